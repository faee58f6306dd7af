"""Arrays that aren't what Arrow promises: a sound one taken apart, one thing or some changed, and put together again.

What a hazard is: whoever reads such an array by its offsets, sizes, indices, run ends or type ids reads beyond its
buffers. Each is changed at every depth: to less, to more, to negative, to what decreases, to what no buffer holds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import types

from .arrays import bitmap_of
from .draw import Draw

EVIL = (
    -1,
    -2,
    0,
    1,
    2,
    127,
    128,
    255,
    4096,
    1 << 20,
    (1 << 31) - 1,
    -(1 << 31),
    1 << 31,
    1 << 40,
    (1 << 63) - 1,
    -(1 << 63),
)


@dataclass
class Parts:
    """An array taken apart."""

    kind: pa.DataType
    length: int
    offset: int
    nulls: int
    buffers: list[bytes | None]
    children: list[Parts] = field(default_factory=list)
    values: Parts | None = None
    """Those of a dictionary, or the storage of an extension."""

    def all(self) -> Iterator[Parts]:
        yield self
        for part in [*self.children, *([self.values] if self.values else [])]:
            yield from part.all()


def buffer_count(kind: pa.DataType, array: pa.Array) -> int:
    """Return the number of an array's buffers without those of its children."""
    if types.is_null(kind) or types.is_struct(kind) or types.is_fixed_size_list(kind) or types.is_run_end_encoded(kind):
        return 1
    if types.is_union(kind):
        return 2 if kind.mode == "sparse" else 3
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return 3
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind) or types.is_dictionary(kind):
        return 2
    return len(array.buffers())


def children_of(array: pa.Array) -> list[pa.Array]:
    """The children as the array's offset finds them: whole."""
    kind = array.type
    if types.is_struct(kind):
        # `field` is sliced as the array is.
        return [array.field(n) for n in range(kind.num_fields)]
    if types.is_union(kind):
        return [array.field(n) for n in range(kind.num_fields)]
    if types.is_run_end_encoded(kind):
        return [array.run_ends, array.values]
    if types.is_map(kind):
        return [pa.StructArray.from_arrays([array.keys, array.items], fields=[kind.key_field, kind.item_field])]
    if kind.num_fields and not types.is_dictionary(kind):
        return [array.values]
    return []


def parts_of(array: pa.Array) -> Parts:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return Parts(kind, len(array), 0, 0, [], values=parts_of(array.storage))
    buffers = [as_bytes(b) for b in array.buffers()[: buffer_count(kind, array)]]
    offset = array.offset
    if offset and (types.is_struct(kind) or (types.is_union(kind) and kind.mode == "sparse")):
        # pyarrow gives their children as they are sliced.
        offset = 0
        if types.is_struct(kind):
            buffers = [as_bytes(bitmap_of(array.is_null().to_pylist()))]
        else:
            buffers[1] = (buffers[1] or b"")[array.offset :]
    parts = Parts(kind, len(array), offset, -1, buffers, [parts_of(child) for child in children_of(array)])
    if types.is_dictionary(kind):
        parts.values = parts_of(array.dictionary)
    return parts


def as_bytes(buffer: pa.Buffer | None) -> bytes | None:
    return None if buffer is None else buffer.to_pybytes()


def put_together(parts: Parts) -> pa.Array:
    kind = parts.kind
    if isinstance(kind, pa.BaseExtensionType):
        assert parts.values is not None
        return pa.ExtensionArray.from_storage(kind, put_together(parts.values))
    buffers = [None if data is None else pa.py_buffer(data) for data in parts.buffers]
    if types.is_dictionary(kind):
        assert parts.values is not None
        return pa.DictionaryArray.from_buffers(
            kind, parts.length, buffers, put_together(parts.values), parts.nulls, parts.offset
        )
    children = [put_together(child) for child in parts.children]
    return pa.Array.from_buffers(kind, parts.length, buffers, parts.nulls, parts.offset, children)


def break_one(draw: Draw, parts: Parts) -> None:
    """Change one thing somewhere in an array."""
    part = draw.choice(list(parts.all()))
    held = [n for n, data in enumerate(part.buffers) if data]
    if held and not draw.chance(3):
        n = draw.choice(held)
        data = part.buffers[n]
        assert data is not None
        part.buffers[n] = other_bytes(draw, data)
        return
    change = draw.randrange(7)
    if change == 0:
        part.length = draw.pick(part.length + 1, part.length * 2 + 1, part.length + 64, 1 << 20, 0, -1, -(1 << 40))
    elif change == 1:
        part.offset = draw.pick(part.offset + 1, 7, 1 << 20, -1, (1 << 62), -(1 << 62))
    elif change == 2:
        part.nulls = draw.pick(0, 1, part.length, part.length + 1, -2, 1 << 40)
    elif change == 3 and part.buffers:
        part.buffers[draw.randrange(len(part.buffers))] = draw.pick(None, b"", b"\0" * 8, b"\xff" * 8)
    elif change == 4 and part.children:
        child = draw.choice(part.children)
        child.length = draw.pick(0, max(child.length - 1, 0), child.length // 2)
    elif change == 5 and part.children:
        part.children = [draw.choice(part.children) for _ in part.children]
    elif part.values is not None:
        part.values.length = draw.pick(0, max(part.values.length - 1, 0))


def other_bytes(draw: Draw, data: bytes) -> bytes:
    """Bytes of a buffer with a number changed, some bytes flipped, or an end missing."""
    change = draw.randrange(5)
    if change == 0:
        return data[: draw.pick(0, 1, len(data) // 2, len(data) - 1, max(len(data) - 8, 0))]
    if change == 1:
        return data + draw.pick(b"\0", b"\xff" * 8)
    return other_number(draw, data) if change < 4 else flipped(draw, data, 4)


def other_number(draw: Draw, data: bytes) -> bytes:
    """One number of some width, often the last one, made another."""
    width = draw.pick(1, 2, 4, 4, 4, 8, 8)
    count = len(data) // width
    if not count:
        return flipped(draw, data, 1)
    offset = draw.pick(0, count - 1, draw.randrange(count), draw.randrange(min(count, 4))) * width
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[width]
    (number,) = struct.unpack_from(f"={code}", data, offset)
    evil = draw.pick(draw.choice(EVIL), number + draw.pick(-1, 1, 2, 100), -number)
    evil = (evil + (1 << (8 * width - 1))) % (1 << (8 * width)) - (1 << (8 * width - 1))
    return data[:offset] + struct.pack(f"={code}", evil) + data[offset + width :]


def flipped(draw: Draw, data: bytes, most: int) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(draw.randint(1, most)):
        changed[draw.randrange(len(data))] = draw.pick(0, 0xFF, 0x80, draw.randrange(256))
    return bytes(changed)
