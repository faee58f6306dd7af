"""`show` notes of a row what `Renderer.divergence` says of it: every row of the recorded cases."""

from __future__ import annotations

from pathlib import Path

import promptpress as pp
import pytest
from case_files import Case, case_files, read_cases
from marks import UNWARNED
from promptpress._engine.table_engine import engine_of
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import RendererSource

pytestmark = UNWARNED


def source_of(case: Case) -> RendererSource | None:
    try:
        return RendererSource(pp.Renderer(**case.settings, examples=case.examples), TableRows(case.samples))
    except (pp.TemplateError, TypeError):  # a case of what is refused
        return None


def is_shown(source: RendererSource, row: int) -> bool:
    try:
        return all(prompt.error is None for prompt in source.prompts(row))
    except (pp.RenderError, pp.TemplateError):
        return False


@pytest.mark.parametrize("path", case_files(), ids=lambda path: path.stem)
def test_rows_are_noted_one_by_one_as_the_whole_table_says(path: Path) -> None:
    for case in read_cases(path.read_text(encoding="utf-8")):
        source = source_of(case)
        if source is None or engine_of(source.renderer).configuration.settings["substitution"] != "harness":
            continue
        rows = [row for row in range(case.samples.num_rows) if is_shown(source, row)]
        noted = {row: source.divergent_columns(row) for row in rows}
        if len(rows) == case.samples.num_rows:  # else the table's own is an error
            whole = {row["row"]: row["columns"] for row in source.renderer.divergence(case.samples).to_pylist()}
            assert noted == {row: whole.get(row, []) for row in rows}, case.name
