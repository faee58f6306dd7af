"""Tables with columns of JSON as the values that Python's `json` makes of them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; those of JSON decoded."""
    values: list[Any] = column.to_pylist()
    is_json = getattr(column.type, "extension_name", None) == "arrow.json"
    return [None if value is None else json.loads(value) for value in values] if is_json else values


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as dicts."""
    columns = {name: values_of(table[name]) for name in table.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
