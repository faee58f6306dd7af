"""Rows that are rendered when they are looked at: prompts of a Jinja template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from promptpress._core import RenderError
from promptpress._errors import of_row

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate
    from promptpress._view.sample_rows import SampleRows

__all__ = ["MadeRows"]


class MadeRows:
    """The prompts of a template, in the place of a file of them.

    Args:
        template: What renders.
        rows: What it renders.

    >>> from promptpress import JinjaTemplate
    >>> from promptpress._view.sample_rows import TableRows
    >>> MadeRows(JinjaTemplate("{{ q }}!"), TableRows(pa.table({"q": ["a", "b"]}))).row(1).to_pylist()
    [{'prompt': 'b!'}]

    """

    def __init__(self, template: JinjaTemplate | ChatTemplate, rows: SampleRows) -> None:
        self._template = template
        self._rows = rows
        self.schema: pa.Schema = template.output_schema(rows.schema)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._rows.num_rows

    def row(self, number: int) -> pa.Table:
        """Return one row."""
        row = self._rows.row(number)
        try:
            return self._template.render(row)
        except RenderError as error:
            raise of_row(error, number) from error.__cause__

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through all rows."""
        yield from self._template.stream(pa.RecordBatchReader.from_batches(self._rows.schema, self._rows.batches()))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column of all rows."""
        at = self.schema.get_field_index(name)
        return pa.chunked_array([batch.column(at) for batch in self.batches()], self.schema.field(at).type)
