"""Rows of a nested array without the values of other rows, which checking them would go over too."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from pyarrow import types

_MANY = 4096
"""Values of other rows that are worth leaving out."""


def narrowed(array: pa.Array) -> pa.Array:
    """The same rows, of a list with no more items than they have. Nothing is copied."""
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _narrowed_list(array)
    if types.is_struct(array.type) and not array.null_count and array.type.num_fields:
        fields = [narrowed(array.field(n)) for n in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=[array.type.field(n) for n in range(array.type.num_fields)])
    return array


def _narrowed_list(array: pa.Array) -> pa.Array:
    if len(array) * 16 + _MANY > len(array.values):
        return array
    ends = array.offsets.to_pylist()
    if ends[0] < 0 or ends[-1] > len(array.values) or any(a > b for a, b in pairwise(ends)):
        return array
    items = narrowed(array.values.slice(ends[0], ends[-1] - ends[0]))
    kind = pa.LargeListArray if types.is_large_list(array.type) else pa.ListArray
    offsets = pa.array([end - ends[0] for end in ends], array.offsets.type)
    return kind.from_arrays(offsets, items, type=array.type, mask=array.is_null() if array.null_count else None)
