"""Fresh copies of arrays: the same values, whole, contiguous, with nothing below a null."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyarrow import types

from . import stages

Cells = Sequence[Any]
"""Scalars of one type; None stands for a null."""


def fresh_array(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Build an array anew from the scalars of another, which pyarrow reads one by one.

    Args:
        array: An array of any type and layout.

    Returns:
        An array of the same type and values that begins at the start of its buffers, at all depths.

    Raises:
        stages.Unbuildable: If the type has too few keys for as many values.

    """
    return fresh(list(array), array.type)


def fresh(cells: Cells, kind: pa.DataType) -> pa.Array:  # noqa: PLR0911 - one kind, one return
    """Build an array of the values of scalars."""
    if isinstance(kind, pa.BaseExtensionType):
        storage = fresh([None if cell is None else cell.value for cell in cells], kind.storage_type)
        return pa.ExtensionArray.from_storage(kind, storage)
    if types.is_union(kind):
        return fresh_union(cells, kind)
    if types.is_run_end_encoded(kind):
        values = fresh([None if cell is None else cell.value for cell in cells], kind.value_type)
        ends = pa.array(range(1, len(cells) + 1), kind.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, values, kind)
    cells = [None if cell is None or not cell.is_valid else cell for cell in cells]
    mask = pa.array([cell is None for cell in cells], pa.bool_())
    if types.is_dictionary(kind):
        return fresh_dictionary(cells, kind)
    if types.is_struct(kind):
        fields = [kind.field(n) for n in range(kind.num_fields)]
        children = [
            fresh([None if cell is None else cell[n] for cell in cells], field.type) for n, field in enumerate(fields)
        ]
        if not children:
            return pa.array([None if cell is None else {} for cell in cells], kind)
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if types.is_nested(kind):
        return fresh_list(cells, kind, mask)
    return pa.array(list(cells), kind)


def fresh_list(cells: Cells, kind: pa.DataType, mask: pa.Array) -> pa.Array:
    if types.is_fixed_size_list(kind):
        rows = [[None] * kind.list_size if cell is None else list(cell.values) for cell in cells]
        items = fresh([item for row in rows for item in row], kind.value_type)
        return pa.Array.from_buffers(kind, len(cells), [bitmap_of(mask)], children=[items])
    rows = [[] if cell is None else list(cell.values) for cell in cells]
    ends = [0, *accumulate(map(len, rows))]
    flat = [item for row in rows for item in row]
    if types.is_map(kind):
        entry = pa.struct([kind.key_field, kind.item_field])
        items = fresh(flat, entry)
    else:
        items = fresh(flat, kind.value_type)
    is_large = types.is_large_list(kind) or types.is_large_list_view(kind)
    width = pa.int64() if is_large else pa.int32()
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        numbers = [pa.array(ends[:-1], width), pa.array(list(map(len, rows)), width)]
    else:
        numbers = [pa.array(ends, width)]
    buffers = [bitmap_of(mask), *(array.buffers()[1] for array in numbers)]
    return pa.Array.from_buffers(kind, len(cells), buffers, children=[items])


def bitmap_of(mask: pa.Array) -> pa.Buffer | None:
    if not mask.true_count:
        return None
    return pa.array([not null for null in mask.to_pylist()], pa.bool_()).buffers()[1]


def fresh_dictionary(cells: Cells, kind: pa.DataType) -> pa.Array:
    values: list[Any] = []
    indices: list[int | None] = []
    numbers: dict[Any, int] = {}
    for cell in cells:
        if cell is None:
            indices.append(None)
            continue
        key = repr(cell.value)
        if key not in numbers:
            numbers[key] = len(values)
            values.append(cell.value)
        indices.append(numbers[key])
    try:
        keys = pa.array(indices, kind.index_type)
    except pa.ArrowInvalid as error:
        raise stages.Unbuildable(str(error)) from error
    return pa.DictionaryArray.from_arrays(keys, fresh(values, kind.value_type), ordered=kind.ordered)


def fresh_union(cells: Cells, kind: pa.DataType) -> pa.Array:
    codes = [0 if cell is None else cell.type_code for cell in cells]
    names = [kind.field(n).name for n in range(kind.num_fields)]
    of_field = [
        [cell if code == n else None for cell, code in zip(cells, codes, strict=True)] for n in range(len(names))
    ]
    inner = [[None if cell is None else cell.value for cell in column] for column in of_field]
    type_ids = pa.array(codes, pa.int8())
    if kind.mode == "sparse":
        return pa.UnionArray.from_sparse(type_ids, [fresh(v, kind.field(n).type) for n, v in enumerate(inner)], names)
    counts = [0] * len(names)
    offsets = []
    for code in codes:
        offsets.append(counts[code])
        counts[code] += 1
    by_kind = [[v for v, code in zip(column, codes, strict=True) if code == n] for n, column in enumerate(inner)]
    children = [fresh(v, kind.field(n).type) for n, v in enumerate(by_kind)]
    return pa.UnionArray.from_dense(type_ids, pa.array(offsets, pa.int32()), children, names)
