"""Rows and columns of Python's own values as tables: typed where Arrow holds them exactly, else as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import Any, Literal

import pyarrow as pa
from pyarrow import types

from promptpress._arrow.json_columns import holds, json_array, json_field
from promptpress._errors.errors import render_error

_MAX_DEPTH = 128
_CONTAINERS = (list, tuple, dict)


def nested_too_deeply(values: Iterable[Any]) -> bool:
    """Return true if a value of a column is nested without end, or deeper than any table of samples may be."""
    level = [value for value in values if isinstance(value, _CONTAINERS)]
    for _ in range(_MAX_DEPTH + 1):
        if not level:
            return False
        # A container that many others hold is looked into once.
        within = (item for value in level for item in (value.values() if isinstance(value, dict) else value))
        level = list({id(item): item for item in within if isinstance(item, _CONTAINERS)}.values())
    return True


def changed(values: Iterable[Any], kind: pa.DataType) -> tuple[int, Any, str, int, str] | None:
    """Find a value that Arrow made one of another kind, such as a text of bytes, and the first row of that kind."""
    if not holds(kind, _may_change):
        return None
    first: dict[str, tuple[int, str]] = {}
    for row, value in enumerate(values):
        for path, leaf in _leaves(value, ""):
            leaf_kind = _changeable_kind(leaf)
            if leaf_kind is not None and (first_of_path := first.setdefault(path, (row, leaf_kind)))[1] != leaf_kind:
                return row, leaf, leaf_kind, *first_of_path
    return None


def _may_change(kind: pa.DataType) -> bool:
    is_binary = types.is_binary(kind) or types.is_large_binary(kind)
    return bool(is_binary or types.is_date(kind) or types.is_timestamp(kind))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    else:
        yield path, value


def _changeable_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, datetime):
        return "a datetime" if value.tzinfo is None else "a datetime with a zone"
    return "a date" if isinstance(value, date) else None


_SCALARS = frozenset({bool, int, float, str})
_BUILTIN = frozenset({*_SCALARS, list, dict})


def is_exact(values: Iterable[Any], kind: pa.DataType, *, builtin: bool = False) -> bool:
    """Return true if a column of a type has the values that Arrow made it of, as far as JSON has such values.

    Arrow makes a number with a fraction of an integer next to one, and gives all dicts the same keys in one order. With
    `builtin` each value has to be of one of Python's own types that JSON has.
    """
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if builtin and not kinds <= _BUILTIN:
        return False
    if types.is_struct(kind):
        names = tuple(field.name for field in kind)
        if not all(isinstance(value, Mapping) and tuple(value) == names for value in present):
            return False
        return all(is_exact([value[field.name] for value in present], field.type, builtin=builtin) for field in kind)
    if types.is_list(kind) or types.is_large_list(kind):
        return is_exact(chain.from_iterable(present), kind.value_type, builtin=builtin)
    if types.is_floating(kind):
        return not any(issubclass(kind, int) for kind in kinds)
    return not (types.is_integer(kind) and bool in kinds)


def json_texts(values: Sequence[Any]) -> list[str | None] | None:
    """Write values as JSON, a tuple as a list; return None if one of them has no such form."""
    texts: list[str | None] = []
    for value in values:
        if value is None:
            texts.append(None)
            continue
        try:
            text = json.dumps(value, default=_plain_number)
        except (TypeError, ValueError, RecursionError):
            return None
        if type(value) not in _SCALARS and not _has_text_keys(value):
            return None
        texts.append(text)
    return texts


def _plain_number(value: Any) -> Any:
    """Return the value of one of NumPy's numbers; raise TypeError for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} isn't a type of JSON")


def _has_text_keys(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) for key in value) and all(map(_has_text_keys, value.values()))
    return not isinstance(value, (list, tuple)) or all(map(_has_text_keys, value))


@dataclass(frozen=True)
class ValueReading:
    """Settings of how values of Python become columns.

    Args:
        exact: True if values that Arrow would change are JSON; false if they have one type a column, as harnesses have
            them, and only those that Arrow refuses are JSON.
        column: A column of objects of other kinds, too; None: there is none.
        write: Writes these as texts of JSON; returns None if they can't be written.
        json_names: Columns whose lists and dicts are JSON, for a dict of Arrow's has no key without a value.
    """

    exact: bool = True
    column: str | None = None
    write: Callable[[Sequence[Any]], list[str | None] | None] = json_texts
    json_names: Collection[str] = ()

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
    """Make a table of dicts, of which the first is row `first`; columns of `json_names` are JSON."""
    names = [_name(name) for name in dict.fromkeys(name for row in rows for name in row)]
    columns = [
        _column(name, [row.get(name) for row in rows], first, reading, is_json=name in json_names) for name in names
    ]
    return _table(columns)


def columns_table(columns: Mapping[Any, Any], reading: ValueReading = EXACT) -> pa.Table:
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
    is_json = is_json or (name in reading.json_names and any(isinstance(value, _CONTAINERS) for value in values))
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
