"""Streams of rows that are made one by one, as a generator of dicts makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from promptpress._arrow.exact_values import is_exact
from promptpress._arrow.json_columns import is_json, json_values
from promptpress._arrow.python_rows import EXACT, ValueReading, excerpt, rows_table
from promptpress._errors.errors import render_error
from promptpress._utils.counted import counted

_ROWS = 8192
"""The number of rows of a batch."""

_REMEDY = "types are those of the first 8,192 rows: make record batches of the rows, which have a schema"


def rows_reader(rows: Iterable[Any], reading: ValueReading = EXACT) -> pa.RecordBatchReader:
    """Read rows batch by batch, with the columns and types of the first batch.

    A key that a row lacks is null there.
    """
    remaining = iter(rows)
    first = _next_table(remaining, 0, reading, frozenset())
    # All batches have JSON where the first one has.
    json_names = frozenset(field.name for field in first.schema if is_json(field))

    def batches() -> Iterator[pa.RecordBatch]:
        start = 0
        table = first
        while table.num_rows:
            yield from _with_schema(table, first.schema, start).to_batches()
            start += table.num_rows
            table = _next_table(remaining, start, reading, json_names)

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _next_table(rows: Iterator[Any], start: int, reading: ValueReading, json_names: frozenset[str]) -> pa.Table:
    """Make a table of the next rows, the first of which has the number `start`."""
    some = list(islice(rows, _ROWS))
    for number, row in enumerate(some, start):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number}: expected a dict, as the rows before it are, found {type(row).__name__}")
    return rows_table(some, start, reading, json_names)


def _with_schema(table: pa.Table, schema: pa.Schema, start: int) -> pa.Table:
    """Give a table the columns of the first one; only nulls fit another type."""
    columns = dict(zip(table.schema.names, table.columns, strict=True))
    for name in columns:
        if name not in schema.names:
            raise render_error("schema_mismatch", f"the rows before have no such key; {_REMEDY}", start, name)
    arrays = []
    for field in schema:
        column = columns.get(field.name)
        if column is None or pa.types.is_null(column.type):
            arrays.append(pa.nulls(table.num_rows, field.type))
        elif is_json(table.schema.field(field.name)) and not is_json(field):
            raise _other_kind(column, table.schema.field(field.name), field, start)
        elif column.type != field.type:
            rows = counted(table.num_rows, "row")
            message = f"the type of the next {rows} is {column.type}, and of those before {field.type}; {_REMEDY}"
            raise render_error("schema_mismatch", message, start, field.name)
        else:
            arrays.append(column)
    return pa.Table.from_arrays(arrays, schema=schema)


def _other_kind(column: pa.ChunkedArray, json: pa.Field, field: pa.Field, start: int) -> Exception:
    """Make the error for the first value of a column that isn't of the type that the rows before have."""
    values = [value for chunk in column.chunks for value in json_values(chunk, json, pa.Array.to_pylist)]
    row = next((row for row, value in enumerate(values) if not _fits(value, field.type)), 0)
    message = f"{excerpt(values[row])} isn't {field.type}, as the rows before have it; {_REMEDY}"
    return render_error("schema_mismatch", message, start + row, field.name)


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return is_exact([value], kind)
