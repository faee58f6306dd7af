"""Tables as the core takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import python_text as _text
from promptpress._arrow.json_columns import is_json
from promptpress._arrow.validation import checked, in_one_chunk
from promptpress._errors.errors import render_error

_MAX_DEPTH = 128
"""Types nested deeper would be followed by recursion until some stack ends; JSON's own readers stop there too."""

PythonText = Callable[..., Any]
"""Gives the texts of a column's rows, or with True their values: takes the column's name and the rows' numbers."""

_EXTENSION_NAME_KEY = "ARROW:extension:name"
"""The core leaves the text of a column with this key to a `PythonText`."""

_ROW_NUMBERS_EXTENSION = "promptpress.rows"

_EXTENSION_METADATA_KEY = "ARROW:extension:metadata"
"""Whose rows a column numbers: the samples' or the examples'. Each has a `PythonText` of its own."""


def core_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of what `for_core` makes of a table with this one."""
    foreign = unsupported_columns(schema)
    return pa.schema([row_numbers(field.name) if field.name in foreign else field for field in schema])


_latest: tuple[pa.Schema, list[str]] | None = None


def unsupported_columns(schema: pa.Schema) -> list[str]:
    """List the columns that the core has no texts for; batch after batch has the same."""
    global _latest  # noqa: PLW0603 - whoever reads it while it is set gets one or the other
    latest = _latest
    if latest is None or not latest[0].equals(schema, check_metadata=True):
        latest = _latest = (schema, _foreign(schema))
    return latest[1]


def _foreign(schema: pa.Schema) -> list[str]:
    """List the columns of types that the core has no texts for; refuse names that it can't tell apart."""
    try:
        names = column_names(schema)
        for field in schema:
            if not types.is_primitive(field.type) and _text.depth(field.type, _MAX_DEPTH) >= _MAX_DEPTH:
                message = f"its type is nested more than {_MAX_DEPTH} deep; flatten it"
                raise render_error("column_nested_too_deep", message, column=field.name)
        foreign = [field.name for field in schema if _is_foreign(field)]
    except UnicodeDecodeError as error:
        message = f"a column or a field of a struct has a name that isn't UTF-8: {error}"
        raise render_error("invalid_column_name", message) from error
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise render_error("duplicate_column", "the table has two columns of this name; rename one", column=twice)
    if "\0" in "".join(names):
        message = "a column name holds a NUL character, at which Arrow's C interface cuts names; rename it"
        raise render_error("invalid_column_name", message)
    return foreign


def _is_foreign(field: pa.Field) -> bool:
    """Return true for a column that the core has no texts for; those of JSON are made when they are needed."""
    return not _text.is_native(field.type) or is_json(field) or _claims_row_numbers(field)


def column_names(schema: pa.Schema) -> list[str]:
    """List a schema's names, which may be any bytes."""
    try:
        names: list[str] = schema.names
    except UnicodeDecodeError as error:
        raise render_error("invalid_column_name", f"a column has a name that isn't UTF-8: {error}") from error
    return names


def _claims_row_numbers(field: pa.Field) -> bool:
    """Return true if a column of the user looks like one that `row_numbers` makes: its values are read here then."""
    metadata = field.metadata or {}
    return metadata.get(_EXTENSION_NAME_KEY.encode()) == _ROW_NUMBERS_EXTENSION.encode()


def row_numbers(name: str, of: Literal["samples", "examples"] = "samples") -> pa.Field:
    """Return the field of a column that has row numbers of a table in the place of its values."""
    return pa.field(
        name, pa.int64(), metadata={_EXTENSION_NAME_KEY: _ROW_NUMBERS_EXTENSION, _EXTENSION_METADATA_KEY: of}
    )


def for_core(
    table: pa.Table, first_row: int = 0, of: Literal["samples", "examples"] = "samples"
) -> tuple[pa.Table, PythonText]:
    """Prepare a table for the core, which has no texts for some types, and believes what an array says of its buffers."""
    foreign = unsupported_columns(table.schema)
    table = checked(table)
    if of == "examples":
        table = in_one_chunk(table)
    out = table
    for name in foreign:
        rows = _core.repeated_rows(0, len(table), 1)
        out = out.set_column(out.schema.get_field_index(name), row_numbers(name, of), rows)

    def python_text(name: str, rows: pa.Array, values: bool = False) -> Any:
        path = name if of == "samples" else f"examples.{name}"
        column = table.select([name]).rename_columns([path])
        runs = _runs(rows.to_pylist())
        if values:
            array = column.column(0)
            field = column.schema.field(0)
            parts = (_text.values(array.slice(first, count), path, first_row + first, field) for first, count in runs)
            return [value for part in parts for value in part]
        texts = [
            chunk
            for first, count in runs
            for chunk in _text.with_texts(column.slice(first, count), [path], first_row=first_row + first)
            .column(0)
            .chunks
        ]
        return pa.concat_arrays(texts) if texts else pa.array([], pa.large_string())

    return out, python_text


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first number and the length of each run of numbers that follow each other."""
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end] != rows[end - 1] + 1:
            yield rows[start], end - start
            start = end
