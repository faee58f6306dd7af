"""Tables with columns of JSON, as what reads values rather than texts takes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from promptpress._arrow import python_text as _text
from promptpress._arrow.changed_values import nested_too_deeply
from promptpress._arrow.exact_values import is_exact
from promptpress._arrow.json_columns import holds_json
from promptpress._core import RenderError


def with_exact_types(table: pa.Table) -> pa.Table:
    """Give columns of JSON the types that Arrow holds all their values in; a column without such a type stays.

    >>> from promptpress._arrow.json_columns import json_array, json_field
    >>> schema = pa.schema([json_field("a"), json_field("b")])
    >>> columns = [json_array(['["x"]', "null"]), json_array(['["x"]', "1"])]
    >>> with_exact_types(pa.Table.from_arrays(columns, schema=schema)).schema.field("a").type
    ListType(list<item: string>)

    """
    for index, field in enumerate(table.schema):
        if not holds_json(field):
            continue
        try:
            values = _text.values(table.column(index), field.name, 0, field)
            if nested_too_deeply(values):
                continue  # a type that deep would be followed by recursion until the stack ends
            array = pa.array(values)
        except (RenderError, pa.ArrowException, TypeError, ValueError, OverflowError):
            continue  # whoever reads the value raises the error of its row
        if is_exact(values, array.type):
            table = table.set_column(index, pa.field(field.name, array.type), array)
    return table


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts, with the values of JSON.

    Raises:
        RenderError: If a text of JSON is none.

    """
    if not any(map(holds_json, table.schema)):
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows
    columns = [values_of(table, name) for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a column, with those of JSON.

    Raises:
        RenderError: As `rows_of`.

    """
    field, column = table.schema.field(name), table.column(name)
    if not holds_json(field):
        values: list[Any] = column.to_pylist()
        return values
    return _text.values(column, name, 0, field)
