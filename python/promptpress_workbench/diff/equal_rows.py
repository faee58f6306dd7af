"""Equality of two Arrow columns of prompts, row by row, including nested values."""

from __future__ import annotations

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import is_text
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.prompts.prompt_source import parent_rows


def is_comparable(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return true if both types are texts, or both are lists of messages.

    >>> is_comparable(pa.string(), pa.large_string()), is_comparable(pa.string(), pa.list_(pa.string()))
    (True, False)

    """
    return is_text(kind) == is_text(other) and _is_list(kind) == _is_list(other)


def equal_rows(column: pa.Array, other: pa.Array) -> pa.Array:  # noqa: PLR0911 - a kind of type each
    """Compare two columns row by row, and return booleans without nulls.

    A field that only one side's messages have makes a difference if it isn't null: a null stands for a missing field.

    >>> column = pa.array([[{"role": "user", "content": "a"}], []])
    >>> other = pa.array([[{"role": "user", "content": "a", "name": None}], [{"role": "", "content": "", "name": ""}]])
    >>> equal_rows(column, other).to_pylist()
    [True, False]

    """
    kinds = column.type, other.type
    if column.type == other.type and column.equals(other):
        return pa.repeat(pa.scalar(True), len(column))
    if all(map(_is_list, kinds)):
        return _equal_lists(column, other)
    if all(map(types.is_struct, kinds)):
        return _equal_structs(column, other)
    if all(map(is_text, kinds)):
        return _equal_values(column.cast(pa.large_string()), other.cast(pa.large_string()))
    if column.type == other.type and not types.is_nested(column.type):
        return _equal_values(column, other)
    if any(map(types.is_null, kinds)):
        return pc.and_(column.is_null(), other.is_null())
    pairs = zip(column.to_pylist(), other.to_pylist(), strict=True)
    return pa.array([mine == yours for mine, yours in pairs], pa.bool_())


def _equal_values(column: pa.Array, other: pa.Array) -> pa.Array:
    are_null = pc.and_(column.is_null(), other.is_null())
    return pc.if_else(are_null, True, pc.fill_null(pc.equal(column, other), False))


def _equal_lists(column: pa.Array, other: pa.Array) -> pa.Array:
    have_equal_lengths = _equal_values(pc.list_value_length(column), pc.list_value_length(other))
    kept = pc.indices_nonzero(have_equal_lengths)
    mine, yours = (side if len(kept) == len(side) else side.take(kept) for side in (column, other))
    items = equal_rows(mine.flatten(), yours.flatten())
    different = kept.take(pc.unique(parent_rows(mine).filter(pc.invert(items))))
    rows = _core.repeated_rows(0, len(column), 1)
    return pc.and_not(have_equal_lengths, pc.is_in(rows, value_set=different.cast(pa.int64())))


def _equal_structs(column: pa.Array, other: pa.Array) -> pa.Array:
    out = pa.repeat(pa.scalar(True), len(column))
    for name in dict.fromkeys(field.name for side in (column, other) for field in side.type):
        fields = [pc.struct_field(side, name) for side in (column, other) if side.type.get_field_index(name) >= 0]
        if len(fields) == 2:
            out = pc.and_(out, equal_rows(*fields))
        elif fields:
            out = pc.and_(out, fields[0].is_null())
    return out


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind))
