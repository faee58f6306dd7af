"""`promptpress verify` prints what docs/recipes.md shows, next to the real harness."""

from __future__ import annotations

import shlex

import pytest
import test_docs
from promptpress_workbench.cli import main


@pytest.mark.usefixtures("opencompass")
def test_verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(test_docs.START)
    page = test_docs.PROJECT / "docs" / "recipes.md"
    (block,) = [block for block in test_docs.blocks(page) if test_docs.needs_a_harness(block)]
    command, *arguments = shlex.split(block.code.replace("\\\n", " "))
    assert command == "promptpress"
    assert main(arguments) == 0, f"{block.page_and_line}: {capsys.readouterr().err}"
    assert capsys.readouterr().out == block.printed, f"{block.page_and_line} prints otherwise"
