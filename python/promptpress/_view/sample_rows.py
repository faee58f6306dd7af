"""Samples that are read from the first to the last, or at one row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from promptpress._errors import render_error
from promptpress._tables import as_table

__all__ = ["SampleRows", "TableRows", "check_row"]


class SampleRows(Protocol):
    """A table that may be larger than memory."""

    @property
    def schema(self) -> pa.Schema:
        """Its schema."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""

    def row(self, number: int) -> pa.Table:
        """Return one row.

        Args:
            number: From 0.

        Raises:
            RenderError: If there is no such row.

        """

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through all rows; as often as it is called."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all rows, and no other where the format allows it.

        Args:
            name: Its name.

        """


class TableRows:
    """The rows of a table in memory.

    Args:
        samples: As `Renderer.render` takes them.

    >>> TableRows(pa.table({"q": ["a", "b"]})).row(1)["q"].to_pylist()
    ['b']

    """

    def __init__(self, samples: object) -> None:
        self._table = as_table(samples)
        self.schema: pa.Schema = self._table.schema
        self.num_rows: int = self._table.num_rows

    def row(self, number: int) -> pa.Table:
        """Return one row."""
        check_row(number, self.num_rows)
        return self._table.slice(number, 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through all rows."""
        yield from self._table.to_batches(max_chunksize=65536)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column of all rows."""
        return self._table.column(self.schema.get_field_index(name))


def check_row(number: int, rows: int) -> None:
    """Refuse a row that isn't there.

    Args:
        number: Its number.
        rows: How many there are.

    Raises:
        RenderError: If there is no such row.

    >>> check_row(2, 3)

    """
    if not 0 <= number < rows:
        message = f"there is no such row: rows count from 0, and the table has {rows}"
        raise render_error("row_out_of_range", message, row=number)
