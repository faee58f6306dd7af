"""`promptpress verify` prints what README shows, next to the real harness."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import test_docs
from promptpress_workbench.cli import main

PAGES = [test_docs.PROJECT / name for name in ("README.md", "README.zh-CN.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("opencompass")
def test_verify(page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(test_docs.PROJECT)
    blocks = [block for block in test_docs.blocks(page) if test_docs.needs_a_harness(block)]
    assert blocks
    for block in blocks:
        command, *arguments = shlex.split(block.code.replace("\\\n", " "))
        assert command == "promptpress"
        assert main(arguments) == 0, f"{block.page_and_line}: {capsys.readouterr().err}"
        assert capsys.readouterr().out == block.printed, f"{block.page_and_line} prints otherwise"
