"""The cases of `tests/cases/` through the renderer; `tests/rust/cases.rs` runs them through the core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from case_files import FOLDER, Case, case_files, read_cases
from marks import UNWARNED

WITHOUT_PROMPTPRESS = """
import runpy, sys
sys.modules["promptpress"] = None
sys.argv = ["make_cases", "--out", sys.argv[1]]
runpy.run_module("make_cases", run_name="__main__")
"""

COLUMNS = {"prompts", "labels", "turns", "samples"}


def test_the_files_are_what_the_models_make(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", WITHOUT_PROMPTPRESS, str(tmp_path)]
    made = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": tests}, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert made.returncode == 0, made.stderr
    names = [path.relative_to(tmp_path) for path in sorted(tmp_path.rglob("*.json"))]
    assert len(names) > 50
    stale = [str(name) for name in names if not same(FOLDER / name, tmp_path / name)]
    assert not stale, "make them anew: PYTHONPATH=tests python -m make_cases"


def same(first: Path, second: Path) -> bool:
    return first.exists() and first.read_bytes() == second.read_bytes()


def rendered(case: Case) -> dict[str, list[Any]]:
    """The columns of the result."""
    renderer = pp.Renderer(**case.settings, unknown="keep", examples=case.examples)
    if case.replies is None:
        return columns_of(renderer.render(case.samples, keep=()))
    talk = renderer.converse(case.samples)
    tables = [talk.requests]
    while (batch := tables[-1]).num_rows:
        samples, turn = batch["sample"].to_pylist(), len(tables) - 1
        tables.append(talk.reply(pa.array([case.replies[sample][turn] for sample in samples], pa.string())))
    return columns_of(pa.concat_tables(tables))


def columns_of(table: pa.Table) -> dict[str, list[Any]]:
    prompts = {"prompts": pp.to_pylist(table["prompt"])}
    others = {"label": "labels", "turn": "turns", "sample": "samples"}
    return prompts | {
        name: table[name_of_column].to_pylist()
        for name_of_column, name in others.items()
        if name_of_column in table.column_names
    }


@UNWARNED
@pytest.mark.parametrize("path", case_files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_every_case_gives_what_its_file_says(path: Path) -> None:
    failures = []
    for case in read_cases(path.read_text(encoding="utf-8")):
        actual: Any
        try:
            actual = rendered(case)
            # Which sample a request is of goes without saying but in a conversation.
            unsaid = set() if "samples" in actual else {"samples"}
            columns = {name: case.expected[name] for name in COLUMNS - unsaid if name in case.expected}
            want = case.expected.get("error", columns)
        except (pp.TemplateError, pp.RenderError) as error:
            kind = "template" if isinstance(error, pp.TemplateError) else "render"
            actual = {"kind": kind, "path": error.path, "row": error.row, "column": error.column, "message": str(error)}
            want = case.expected.get("error", case.expected)
            if "error" in case.expected:
                actual = {name: actual[name] for name in want}
        if actual != want:
            failures.append(f"{case.name}\n  expected {want}\n  found    {actual}")
    assert not failures, "\n".join(failures)
