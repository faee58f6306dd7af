"""Rows and columns of Python's own values as tables: typed where Arrow holds them exactly, else as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from promptpress._arrow.changed_values import changed, nested_too_deeply
from promptpress._arrow.exact_values import is_exact, json_texts
from promptpress._arrow.json_columns import json_array, json_field
from promptpress._errors.errors import render_error


@dataclass(frozen=True)
class ValueReading:
    """Settings of how values of Python become columns.

    Args:
        exact: True if values that Arrow would change are JSON; false if they have one type a column, as harnesses have
            them, and only those that Arrow refuses are JSON.
        column: A column of objects of other kinds, too; None: there is none.
        write: Writes these as texts of JSON; returns None if they can't be written.

    """

    exact: bool = True
    column: str | None = None
    write: Callable[[Sequence[Any]], list[str | None] | None] = json_texts

    @property
    def harness_types(self) -> Literal["json"] | None:
        """The files whose columns have the types of a harness's reader: those of JSON, or none."""
        return None if self.exact else "json"


EXACT = ValueReading()
"""Values stay what they are."""

OF_HARNESS = ValueReading(exact=False)
"""Values have one type a column."""


def rows_table(
    rows: Sequence[Mapping[Any, Any]], first: int = 0, reading: ValueReading = EXACT, json_names: Collection[str] = ()
) -> pa.Table:
    """Make a table of dicts, one a row."""
    names = [_name(name) for name in dict.fromkeys(name for row in rows for name in row)]
    columns = [
        _column(name, [row.get(name) for row in rows], first, reading, is_json=name in json_names) for name in names
    ]
    return _table(columns)


def columns_table(columns: Mapping[Any, Any], reading: ValueReading = EXACT) -> pa.Table:
    """Make a table of columns by their names."""
    made = [_column(_name(name), values, reading=reading) for name, values in columns.items()]
    lengths = {field.name: len(array) for field, array in made}
    first, *others = lengths
    for name in others:
        if lengths[name] != lengths[first]:
            message = f"it has {lengths[name]} values, and the column {first!r} has {lengths[first]}"
            raise render_error("malformed_array", message, column=name)
    return _table(made)


def _table(columns: Sequence[tuple[pa.Field, Any]]) -> pa.Table:
    return pa.Table.from_arrays([array for _, array in columns], schema=pa.schema([field for field, _ in columns]))


def _name(name: Any) -> str:
    if not isinstance(name, str):
        message = f"a column's name is a string; found {name!r}, a {type(name).__name__}"
        raise render_error("invalid_column_name", message)
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise render_error("invalid_column_name", f"a column's name holds half of a surrogate pair: {name!r}")
    return name


def _column(
    name: str, values: Any, first: int = 0, reading: ValueReading = EXACT, *, is_json: bool = False
) -> tuple[pa.Field, Any]:
    """Return the field and the array of a column."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return pa.field(name, values.type), values
    if nested_too_deeply(values):
        message = "a value is nested more than 128 deep, or holds itself; flatten it"
        raise render_error("unconvertible_value", message, column=name)
    is_list = isinstance(values, (list, tuple))
    write = reading.write if name == reading.column else json_texts
    failure: Exception | None = None
    array = None
    try:
        array = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        failure = error
    has_objects = name == reading.column
    if is_json or array is None:
        is_held = False
    else:
        is_held = not is_list or not (reading.exact or has_objects) or is_exact(values, array.type, builtin=has_objects)
    if not is_held and is_list and (texts := write(values)) is not None:
        return json_field(name), json_array(texts)
    if array is None:
        _refuse_kinds(name, values, first)
        why = str(failure).splitlines()[0]
        raise render_error("unconvertible_value", f"Arrow has no type for its values: {why}", column=name) from failure
    if (change := changed(values, array.type)) is not None:
        row, value, kind, first_row, first_kind = change
        message = f"{excerpt(value)} is {kind}, but row {first + first_row} has {first_kind}: one kind a column"
        raise render_error("unconvertible_value", message, first + row, name)
    return pa.field(name, array.type), array


def _refuse_kinds(name: str, values: Iterable[Any], start: int) -> None:
    """Find the row whose value is of another kind than those before, or is one that nothing takes."""
    first: tuple[int, str] | None = None
    for row, value in enumerate(values, start):
        if value is None:
            continue
        try:
            pa.array([value])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            message = f"{excerpt(value)}: {str(error).splitlines()[0]}"
            raise render_error("unconvertible_value", message, row, name) from error
        kind = _kind(value)
        first = first or (row, kind)
        if kind != first[1]:
            message = f"{excerpt(value)} is {kind}, but row {first[0]} has {first[1]}: one kind a column"
            raise render_error("unconvertible_value", message, row, name)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "a dict"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"


def excerpt(value: Any) -> str:
    """Return a value's `repr` for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
