"""Rows of columns, also of types whose rows pyarrow can't take."""

from __future__ import annotations

import pyarrow as pa

from promptpress._take_rows import take_rows

__all__ = ["taken", "taken_of_table"]


def taken(column: pa.Array | pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """Take rows of a column.

    Args:
        column: Of any type, such as views, for which pyarrow has no function.
        rows: Row numbers, ascending.

    Returns:
        The rows.

    >>> taken(pa.array(["a", "b"], pa.string_view()), pa.array([1])).to_pylist()
    ['b']

    """
    try:
        out = column.take(rows)
    except pa.ArrowNotImplementedError:
        return pa.chunked_array(take_rows(column, rows.cast(pa.int64())), column.type)
    return pa.chunked_array([out]) if isinstance(out, pa.Array) else out


def taken_of_table(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Take rows of a table.

    Args:
        table: Of columns of any type.
        rows: Row numbers, ascending.

    Returns:
        The rows.

    >>> taken_of_table(pa.table({"q": pa.array(["a", "b"], pa.string_view())}), pa.array([1])).to_pylist()
    [{'q': 'b'}]

    """
    return pa.Table.from_arrays([taken(column, rows) for column in table.columns], schema=table.schema)
