"""Arrow arrays of row numbers (int64), and the rows of columns of any type."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from promptpress._arrow.take import take_rows
from promptpress._utils import lazy_compute as pc

__all__ = ["concatenated", "sorted_unique", "take_column", "take_table", "without"]


def sorted_unique(rows: pa.Array) -> pa.Array:
    """Return row numbers in ascending order, each once."""
    unique = pc.unique(rows.cast(pa.int64()))
    return unique.take(pc.sort_indices(unique))


def without(rows: pa.Array, excluded: pa.Array) -> pa.Array:
    """Return the row numbers that aren't among others."""
    return rows.filter(pc.invert(pc.is_in(rows, value_set=excluded)))


def concatenated(arrays: Iterable[pa.Array]) -> pa.Array:
    """Concatenate arrays of row numbers, of which there may be none."""
    return pa.concat_arrays([pa.array([], pa.int64()), *arrays])


def take_column(column: pa.Array | pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """Take rows of a column, also of types that pyarrow can't take from, such as views.

    >>> take_column(pa.array(["a", "b"], pa.string_view()), pa.array([1])).to_pylist()
    ['b']

    """
    try:
        out = column.take(rows)
    except pa.ArrowNotImplementedError:
        return pa.chunked_array(take_rows(column, rows.cast(pa.int64())), column.type)
    return pa.chunked_array([out]) if isinstance(out, pa.Array) else out


def take_table(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Take rows of a table with columns of any type."""
    return pa.Table.from_arrays([take_column(column, rows) for column in table.columns], schema=table.schema)
