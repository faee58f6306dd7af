"""Prompts that a Jinja template or a chat template makes from rows, with their origins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from promptpress.engine import RenderOptions, TableRenderer, engine_of
from promptpress.engine import core as _core
from promptpress.engine.core import RenderError
from promptpress.engine.errors import of_row, render_error
from promptpress.engine.templates import TemplateEngine

from promptpress_workbench.prompts.pieces import prompt_of
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import RequestBatch
from promptpress_workbench.prompts.sample_rows import SampleRows

_PROMPT = 0
"""The position of the texts among the output columns."""


class TemplateSource:
    """The texts of a Jinja template or a chat template, with their origins.

    >>> from promptpress import JinjaTemplate
    >>> from promptpress_workbench.prompts.sample_rows import TableRows
    >>> source = TemplateSource(JinjaTemplate("Q: {{ q }}"), TableRows(pa.table({"q": ["1+1", "2+2"]})))
    >>> [piece.text for piece in source.prompts(1)[0].pieces]
    ['Q: ', '2+2']

    """

    has_origins = True
    labels = None

    def __init__(self, renderer: TableRenderer[TemplateEngine], rows: SampleRows) -> None:
        self.rows = rows
        self._engine = engine_of(renderer)
        self._engine.output_schema(rows.schema, RenderOptions())  # raises an error if a column is missing

    @property
    def num_samples(self) -> int:
        """The number of samples."""
        return self.rows.num_rows

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the text of one row, as `PromptSource.prompts`."""
        sample = self.rows.row(row)
        if label is not None:
            raise render_error("unknown_label", "there are no labels: only ppl has some")
        if turn is not None:
            message = "turn: there are no turns: only multi-turn templates have some"
            raise render_error("turn_out_of_range", message, row=row)
        try:
            rendered = self._engine.render(sample, RenderOptions(spans="detailed"))
        except RenderError as error:
            raise of_row(error, row) from error.__cause__
        prompt, spans = (column[0].as_py() for column in rendered.columns)
        return [prompt_of(prompt, row, (_explained(span) for span in spans or ()))]

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt without origins, as `PromptSource.request`."""
        return prompt_of(value, sample, label=label, turn=turn)

    def requests(self) -> Iterator[RequestBatch]:
        """Yield all texts, as `PromptSource.requests`."""
        reader = pa.RecordBatchReader.from_batches(self.rows.schema, self.rows.batches())
        first = 0
        for batch in self._engine.stream(reader, RenderOptions()):
            samples = _core.repeated_rows(first, batch.num_rows, 1)
            yield RequestBatch(samples, batch.column(_PROMPT), numbering="own")
            first += batch.num_rows


def _explained(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span of one text as `Renderer.explain` has it: the place in a conversation belongs to the column."""
    path = None if span.get("message") is None else f"[{span['message']}].{span['path']}"
    return {**span, "message": 0, "part": None, "path": path}
