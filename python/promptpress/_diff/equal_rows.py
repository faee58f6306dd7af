"""Which rows of two Arrow columns are equal, whatever is nested in them."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._list_items import parent_rows

__all__ = ["equal_rows", "is_comparable"]


def is_comparable(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether both hold texts, or both hold messages.

    >>> is_comparable(pa.string(), pa.large_string()), is_comparable(pa.string(), pa.list_(pa.string()))
    (True, False)

    """
    return _is_text(one) == _is_text(other) and _is_list(one) == _is_list(other)


def equal_rows(one: pa.Array, other: pa.Array) -> pa.Array:  # noqa: PLR0911 - a kind of type each
    """Compare two columns row by row.

    A field that only one side's messages have counts where it isn't null: null is what a message doesn't have.

    Args:
        one: A prompt column.
        other: Another of as many rows.

    Returns:
        Whether each row is equal; never null.

    >>> one = pa.array([[{"role": "user", "content": "a"}], []])
    >>> other = pa.array([[{"role": "user", "content": "a", "name": None}], [{"role": "", "content": "", "name": ""}]])
    >>> equal_rows(one, other).to_pylist()
    [True, False]

    """
    if one.type == other.type and one.equals(other):
        return _all(len(one), value=True)
    if _is_list(one.type) and _is_list(other.type):
        return _equal_lists(one, other)
    if types.is_struct(one.type) and types.is_struct(other.type):
        return _equal_structs(one, other)
    if _is_text(one.type) and _is_text(other.type):
        return _equal_values(one.cast(pa.large_string()), other.cast(pa.large_string()))
    if one.type == other.type and not types.is_nested(one.type):
        return _equal_values(one, other)
    if types.is_null(one.type) or types.is_null(other.type):
        return pc.and_(one.is_null(), other.is_null())
    pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
    return pa.array([mine == yours for mine, yours in pairs], pa.bool_())


def _equal_values(one: pa.Array, other: pa.Array) -> pa.Array:
    neither = pc.and_(one.is_null(), other.is_null())
    return pc.if_else(neither, True, pc.fill_null(pc.equal(one, other), False))


def _equal_lists(one: pa.Array, other: pa.Array) -> pa.Array:
    alike = _equal_values(pc.list_value_length(one), pc.list_value_length(other))
    kept = pc.indices_nonzero(alike)
    mine, yours = (side if len(kept) == len(side) else side.take(kept) for side in (one, other))
    items = equal_rows(mine.flatten(), yours.flatten())
    wrong = parent_rows(mine).filter(pc.invert(items))
    if not len(wrong):
        return alike
    places = kept.take(pc.unique(wrong)).to_pylist()
    out = alike.to_pylist()
    for place in places:
        out[place] = False
    return pa.array(out, pa.bool_())


def _equal_structs(one: pa.Array, other: pa.Array) -> pa.Array:
    out = _all(len(one), value=True)
    names = {side.type.field(at).name: None for side in (one, other) for at in range(side.type.num_fields)}
    for name in names:
        mine, yours = (_field(side, name) for side in (one, other))
        if mine is not None and yours is not None:
            same = equal_rows(mine, yours)
        else:
            same = pc.is_null(yours if mine is None else mine)
        out = pc.and_(out, same)
    return out


def _field(array: pa.Array, name: str) -> pa.Array | None:
    return pc.struct_field(array, name) if array.type.get_field_index(name) >= 0 else None


def _all(rows: int, *, value: bool) -> pa.Array:
    return pa.repeat(pa.scalar(value), rows)


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view())


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind))
