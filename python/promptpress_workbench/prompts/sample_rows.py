"""Tables of samples, or of prompts, that are gone through in batches or read at one row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa
from promptpress.engine import as_table
from promptpress.engine.errors import render_error
from promptpress.engine.tables import EXACT, ValueReading


class SampleRows(Protocol):
    """A table that may be larger than memory."""

    @property
    def schema(self) -> pa.Schema:
        """The schema."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    def row(self, number: int) -> pa.Table:
        """Return one row by its number, from 0.

        Raises:
            RenderError: If there is no such row.

        """

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, from the first one at each call."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all rows, and no other if the format allows it."""


class TableRows:
    """The rows of a table in memory, given as `Renderer.render` takes samples."""

    def __init__(self, samples: object, reading: ValueReading = EXACT) -> None:
        self._table = as_table(samples, reading)
        self.schema: pa.Schema = self._table.schema
        self.num_rows: int = self._table.num_rows

    def row(self, number: int) -> pa.Table:
        """Return one row."""
        check_row(number, self.num_rows)
        return self._table.slice(number, 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows."""
        yield from self._table.to_batches(max_chunksize=65536)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column."""
        return self._table.column(self.schema.get_field_index(name))


def check_row(number: int, rows: int) -> None:
    """Raise a RenderError (`row_out_of_range`) if a table of so many rows lacks a row."""
    if not 0 <= number < rows:
        message = f"there is no such row: rows count from 0, and the table has {rows}"
        raise render_error("row_out_of_range", message, row=number)
