"""Columns of conversations in odd layouts: lists of messages whose fields begin anywhere in their buffers."""

from __future__ import annotations

import struct

import pyarrow as pa
from pyarrow import types

from . import arrays
from .draw import Draw

ROLES = ("user", "assistant", "system")
TEXTS = ("", "hi", "é", "longer than a view has room for", "{q}", "{{ q }}")
STRINGS = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string()))


def column(draw: Draw, rows: int) -> pa.ChunkedArray:
    """A column of lists of messages, in one chunk or in two."""
    kind = list_type(draw, message_type(draw))
    cut = draw.randint(0, rows) if draw.chance(3) else rows
    return pa.chunked_array([lists(draw, kind, length) for length in (cut, rows - cut)], kind)


def message_type(draw: Draw) -> pa.DataType:
    text, part = draw.choice(STRINGS), pa.struct([("type", pa.string()), ("text", draw.choice(STRINGS[:3]))])
    content = draw.pick(text, text, text, list_type(draw, part, may_be_view=False))
    fields = [("role", draw.choice(STRINGS)), ("content", content)]
    if draw.chance(2):
        fields.append(("extra", arrays.any_type(draw, draw.pick(0, 1, 2))))
    return pa.struct(fields)


def list_type(draw: Draw, item: pa.DataType, *, may_be_view: bool = True) -> pa.DataType:
    kinds = [pa.list_, pa.list_, pa.large_list, lambda item: pa.list_(item, 2)]
    if may_be_view:
        kinds += [pa.list_view, pa.large_list_view]
    return draw.choice(kinds)(item)


def lists(draw: Draw, kind: pa.DataType, rows: int) -> pa.Array:
    """Lists of messages or of parts."""
    before, after = draw.pick(0, 0, 1, 5), draw.pick(0, 0, 2)
    count = before + rows + after
    nulls = [draw.chance(12) for _ in range(count)]
    bitmap = arrays.bitmap_of(nulls)
    if types.is_fixed_size_list(kind):
        items = structs(draw, kind.value_type, count * kind.list_size)
        return pa.Array.from_buffers(kind, count, [bitmap], children=[items]).slice(before, rows)
    sizes = [draw.pick(0, 1, 1, 2, 3) for _ in range(count)]
    first = draw.pick(0, 0, 2)
    starts = [first]
    for size in sizes:
        starts.append(starts[-1] + size)
    is_large = types.is_large_list(kind) or types.is_large_list_view(kind)
    packed = lambda numbers: pa.py_buffer(struct.pack(f"={len(numbers)}{'q' if is_large else 'i'}", *numbers))  # noqa: E731
    is_view = types.is_list_view(kind) or types.is_large_list_view(kind)
    buffers = [bitmap, *([packed(starts[:-1]), packed(sizes)] if is_view else [packed(starts)])]
    items = structs(draw, kind.value_type, starts[-1] + draw.pick(0, 1))
    return pa.Array.from_buffers(kind, count, buffers, children=[items]).slice(before, rows)


def structs(draw: Draw, kind: pa.DataType, length: int) -> pa.Array:
    """Messages or parts, which begin in the middle of their fields."""
    before, after = draw.pick(0, 0, 3), draw.pick(0, 0, 2)
    count = before + length + after
    children = []
    for field in kind:
        if types.is_nested(field.type) and field.name == "content":
            children.append(lists(draw, field.type, count))
        elif field.name == "extra":
            children.append(arrays.array_of(draw, field.type, count, lambda draw: draw.choice(TEXTS)))
        else:
            children.append(strings(draw, field, count))
    return pa.Array.from_buffers(kind, count, [None], children=children).slice(before, length)


def strings(draw: Draw, field: pa.Field, length: int) -> pa.Array:
    options = {"role": ROLES, "type": ("text",)}.get(field.name, TEXTS)
    before = draw.pick(0, 0, 2)
    values = [draw.choice(options) for _ in range(before + length)]
    if field.name == "content" and draw.chance(6):
        values = [None if draw.chance(5) else value for value in values]
    made = pa.array(values, pa.string())
    made = made.dictionary_encode() if types.is_dictionary(field.type) else made
    return made.cast(field.type).slice(before)
