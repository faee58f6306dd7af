"""Arrays of every Arrow type and layout, built buffer by buffer where pyarrow's builders know only one way.

What a hazard is: slots that are null and yet hold something, offsets that don't begin at 0, lists that share or skip
their items, dictionaries with values that are null, unused or there twice, slices of all of these within others.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types

from .draw import Draw

Texts = Callable[[Draw], str]
"""Makes one text; those of a case hold its own placeholders and tokens."""

ZONES = ("UTC", "Asia/Shanghai", "America/New_York", "+05:30", "-00:15")
FLOATS = (
    0.0,
    -0.0,
    1.0,
    0.1,
    1e22,
    1e16,
    123456789012345680.0,
    5e-324,
    1.7e308,
    float("nan"),
    float("inf"),
    -float("inf"),
)


class Labelled(pa.ExtensionType):
    """An extension type of Python's own, whose scalar class makes the values: its text isn't the storage's."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "promptpress.fuzz.labelled")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Labelled:
        return cls(storage)

    def __arrow_ext_scalar_class__(self) -> type[pa.ExtensionScalar]:
        return LabelledScalar


class LabelledScalar(pa.ExtensionScalar):
    """Its value says so."""

    def as_py(self, **options: Any) -> Any:
        return None if self.value is None else f"<{self.value.as_py(**options)}>"


with contextlib.suppress(pa.ArrowKeyError):  # registered by another import of this file
    pa.register_extension_type(Labelled(pa.null()))


def leaf_type(draw: Draw) -> pa.DataType:
    """A type without children: widths, units, zones, scales beyond the precision, and views."""
    unit = draw.pick("s", "ms", "us", "ns")
    return draw.choice(
        [
            pa.null,
            pa.bool_,
            lambda: draw.pick(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            lambda: draw.pick(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
            lambda: draw.pick(pa.float16(), pa.float32(), pa.float64()),
            lambda: draw.pick(pa.string(), pa.large_string(), pa.string_view()),
            lambda: draw.pick(pa.string(), pa.large_string(), pa.string_view()),
            lambda: draw.pick(pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3), pa.binary(0)),
            lambda: draw.pick(pa.date32(), pa.date64()),
            lambda: draw.pick(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
            lambda: pa.timestamp(unit),
            lambda: pa.timestamp(unit, draw.choice(ZONES)),
            lambda: pa.duration(unit),
            pa.month_day_nano_interval,
            lambda: draw.pick(
                pa.decimal32(9, 2), pa.decimal64(18, 18), pa.decimal128(38, draw.pick(0, 10, 38, -3, 60))
            ),
            lambda: pa.decimal256(draw.pick(76, 40), draw.pick(0, 10, 40, -2)),
        ]
    )()


def any_type(draw: Draw, depth: int = 2) -> pa.DataType:
    """Any type; lists, structs, maps, unions, dictionaries, runs and extensions of others down to `depth`."""
    if depth == 0 or draw.chance(2):
        return leaf_type(draw)
    item = any_type(draw, depth - 1)
    return draw.choice(
        [
            lambda: draw.pick(pa.list_, pa.large_list, pa.list_view, pa.large_list_view)(item),
            lambda: draw.pick(pa.list_, pa.large_list, pa.list_view, pa.large_list_view)(item),
            lambda: pa.list_(item, draw.randint(0, 3)),
            lambda: struct_type(draw, depth - 1),
            lambda: struct_type(draw, depth - 1),
            lambda: pa.map_(draw.pick(pa.string(), pa.int8(), pa.string_view()), item),
            lambda: dictionary_type(draw),
            lambda: dictionary_type(draw),
            lambda: pa.run_end_encoded(draw.pick(pa.int16(), pa.int32(), pa.int64()), leaf_type(draw)),
            lambda: draw.pick(pa.sparse_union, pa.dense_union)(
                [pa.field(name, any_type(draw, depth - 1)) for name in "ab"[: draw.randint(1, 2)]]
            ),
            # JSON has values of its own, which tests/arrow/test_json_columns.py draws.
            lambda: draw.pick(pa.uuid(), pa.bool8(), Labelled(pa.string()), Labelled(pa.int64())),
        ]
    )()


def struct_type(draw: Draw, depth: int) -> pa.DataType:
    names = draw.subset(["q", "a", "b c", "", "é", "'", "{q}"], 3)
    if draw.chance(20) and names:
        names.append(names[0])  # twice the same name: no dict can hold it
    return pa.struct([pa.field(name, any_type(draw, depth)) for name in names])


def dictionary_type(draw: Draw) -> pa.DataType:
    values = draw.pick(
        pa.string(), pa.string(), pa.large_string(), pa.int64(), pa.float64(), pa.binary(), pa.timestamp("us")
    )
    index = draw.pick(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
    return pa.dictionary(index, values)


def array_of(draw: Draw, kind: pa.DataType, length: int, texts: Texts) -> pa.Array:
    """An array of `length` values, often a slice of a longer one."""
    if length and draw.chance(3):
        before, after = draw.randint(0, 9), draw.randint(0, 3)
        return built(draw, kind, before + length + after, texts).slice(before, length)
    return built(draw, kind, length, texts)


def chunked_of(draw: Draw, kind: pa.DataType, length: int, texts: Texts) -> pa.ChunkedArray:
    """A column, in one chunk or in some, of which some may be empty."""
    cuts = sorted(draw.randint(0, length) for _ in range(draw.pick(0, 0, 0, 1, 3)))
    ends = [0, *cuts, length]
    lengths = [end - start for start, end in itertools.pairwise(ends)]
    return pa.chunked_array([array_of(draw, kind, length, texts) for length in lengths], kind)


def nulls_of(draw: Draw, length: int) -> list[bool]:
    """Draw which slots are null: mostly none, or some, or all."""
    rate = draw.pick(0.0, 0.0, 0.3, 0.3, 1.0 if draw.chance(5) else 0.1)
    return [draw.random() < rate for _ in range(length)]


def bitmap_of(nulls: list[bool]) -> pa.Buffer | None:
    if not any(nulls):
        return None
    bits = bytearray((len(nulls) + 7) // 8)
    for position, null in enumerate(nulls):
        if not null:
            bits[position // 8] |= 1 << position % 8
    return pa.py_buffer(bytes(bits))


def built(draw: Draw, kind: pa.DataType, length: int, texts: Texts) -> pa.Array:  # noqa: PLR0911 - one kind, one return
    """An array that begins at the start of its buffers."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, storage_of(draw, kind, length, texts))
    if types.is_dictionary(kind):
        values = array_of(draw, kind.value_type, draw.randint(1, 5), texts)
        indices = [None if null else draw.randrange(len(values)) for null in nulls_of(draw, length)]
        return pa.DictionaryArray.from_arrays(pa.array(indices, kind.index_type), values)
    if types.is_run_end_encoded(kind):
        ends = sorted(draw.sample(range(1, length), draw.randint(0, min(3, length - 1)))) if length > 1 else []
        ends += [length] if length else []
        values = array_of(draw, kind.value_type, len(ends), texts)
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, kind.run_end_type), values, kind)
    if types.is_union(kind):
        return union_of(draw, kind, length, texts)
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        values = array_of(draw, kind.value_type, length * size, texts)
        return pa.Array.from_buffers(kind, length, [bitmap_of(nulls_of(draw, length))], children=[values])
    if types.is_map(kind):
        offsets, total = offsets_of(draw, length)
        keys = built(draw, kind.key_type, total, texts)
        while keys.null_count:
            keys = built(draw, kind.key_type, total, texts)
        entries = pa.StructArray.from_arrays(
            [keys, array_of(draw, kind.item_type, total, texts)], fields=[kind.key_field, kind.item_field]
        )
        buffers = [bitmap_of(nulls_of(draw, length)), pa.py_buffer(struct.pack(f"={length + 1}i", *offsets))]
        return pa.Array.from_buffers(kind, length, buffers, children=[entries])
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        total = draw.randint(0, 6)
        starts = [draw.randint(0, total) for _ in range(length)]
        sizes = [draw.randint(0, min(3, total - start)) for start in starts]
        code = "q" if types.is_large_list_view(kind) else "i"
        buffers = [bitmap_of(nulls_of(draw, length))]
        buffers += [pa.py_buffer(struct.pack(f"={length}{code}", *numbers)) for numbers in (starts, sizes)]
        return pa.Array.from_buffers(kind, length, buffers, children=[array_of(draw, kind.value_type, total, texts)])
    if types.is_list(kind) or types.is_large_list(kind):
        offsets, total = offsets_of(draw, length)
        code = "q" if types.is_large_list(kind) else "i"
        buffers = [bitmap_of(nulls_of(draw, length)), pa.py_buffer(struct.pack(f"={length + 1}{code}", *offsets))]
        return pa.Array.from_buffers(kind, length, buffers, children=[array_of(draw, kind.value_type, total, texts)])
    if types.is_struct(kind):
        children = [array_of(draw, field.type, length, texts) for field in kind]
        return pa.Array.from_buffers(kind, length, [bitmap_of(nulls_of(draw, length))], children=children)
    return leaves_of(draw, kind, length, texts)


def offsets_of(draw: Draw, length: int) -> tuple[list[int], int]:
    """Offsets of lists, which may begin after 0 and end before the last item; and how many items there are."""
    offsets = [draw.pick(0, 0, 2)]
    for _ in range(length):
        offsets.append(offsets[-1] + draw.pick(0, 1, 1, 2, 3))
    return offsets, offsets[-1] + draw.pick(0, 0, 1)


def storage_of(draw: Draw, kind: pa.BaseExtensionType, length: int, texts: Texts) -> pa.Array:
    storage = kind.storage_type
    if kind == pa.bool8():
        return pa.array([None if null else draw.pick(0, 1) for null in nulls_of(draw, length)], storage)
    return built(draw, storage, length, texts)


def union_of(draw: Draw, kind: pa.DataType, length: int, texts: Texts) -> pa.Array:
    codes = [draw.randrange(kind.num_fields) for _ in range(length)]
    type_ids = pa.array(codes, pa.int8())
    names = [kind.field(n).name for n in range(kind.num_fields)]
    if kind.mode == "sparse":
        children = [array_of(draw, kind.field(n).type, length, texts) for n in range(kind.num_fields)]
        return pa.UnionArray.from_sparse(type_ids, children, names)
    counts = [0] * kind.num_fields
    offsets = []
    for code in codes:
        offsets.append(counts[code])
        counts[code] += 1
    children = [array_of(draw, kind.field(n).type, count, texts) for n, count in enumerate(counts)]
    return pa.UnionArray.from_dense(type_ids, pa.array(offsets, pa.int32()), children, names)


def leaves_of(draw: Draw, kind: pa.DataType, length: int, texts: Texts) -> pa.Array:
    nulls = nulls_of(draw, length)
    if types.is_null(kind):
        return pa.nulls(length)
    value = value_maker(draw, kind, texts)
    if types.is_temporal(kind) and kind != pa.month_day_nano_interval():
        # By their numbers: Python's own objects hold neither all units nor all of their range.
        width = pa.int32() if kind in (pa.date32(), pa.time32("s"), pa.time32("ms")) else pa.int64()
        return pa.array([None if null else value() for null in nulls], width).view(kind)
    if types.is_decimal(kind):
        numbers = b"".join(value().to_bytes(kind.byte_width, "little", signed=True) for _ in range(length))
        return pa.Array.from_buffers(kind, length, [bitmap_of(nulls), pa.py_buffer(numbers)])
    array = pa.array([value() if not null or draw.chance(2) else None for null in nulls], kind)
    if array.null_count == 0 and any(nulls) and not types.is_string_view(kind):
        # Null, and yet there is a value underneath.
        buffers = array.buffers()
        return pa.Array.from_buffers(kind, length, [bitmap_of(nulls), *buffers[1:]])
    return array


def value_maker(draw: Draw, kind: pa.DataType, texts: Texts) -> Callable[[], Any]:  # noqa: PLR0911
    if types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view():
        return lambda: texts(draw)
    if types.is_fixed_size_binary(kind):
        return lambda: draw.randbytes(kind.byte_width)
    if types.is_binary(kind) or types.is_large_binary(kind) or kind == pa.binary_view():
        return lambda: draw.pick(texts(draw).encode(), draw.randbytes(draw.randint(0, 20)))
    if types.is_boolean(kind):
        return lambda: draw.pick(True, False)
    if types.is_floating(kind):
        import numpy as np

        if kind == pa.float16():
            return lambda: np.float16(draw.pick(draw.gauss(0, 1), draw.choice(FLOATS[:4]), 65504.0))
        if kind == pa.float32():
            return lambda: draw.pick(draw.gauss(0, 1), struct.unpack("=f", draw.randbytes(4))[0])
        return lambda: draw.pick(draw.gauss(0, 1e3), draw.choice(FLOATS), struct.unpack("=d", draw.randbytes(8))[0])
    if types.is_integer(kind):
        low = -(2 ** (kind.bit_width - 1)) if types.is_signed_integer(kind) else 0
        high = low + 2**kind.bit_width - 1
        return lambda: draw.pick(draw.randint(max(low, -9), 9), low, high, draw.randint(low, high))
    if kind == pa.month_day_nano_interval():
        return lambda: pa.MonthDayNano([draw.randint(-20, 20), draw.randint(-40, 40), draw.randint(-(10**12), 10**12)])
    if types.is_decimal(kind):
        limit = 10**kind.precision - 1
        return lambda: draw.pick(0, draw.randint(-limit, limit), draw.randint(-99, 99), limit)
    return number_of_time(draw, kind)


def number_of_time(draw: Draw, kind: pa.DataType) -> Callable[[], int]:
    """Numbers of a date, time, timestamp or duration; a few are beyond what Python's `datetime` holds."""
    a_day = 24 * 60 * 60
    if kind == pa.date32():
        return lambda: draw.pick(0, draw.randint(-700_000, 2_900_000), 2**31 - 1 if draw.chance(20) else 1)
    if kind == pa.date64():
        return lambda: draw.pick(0, draw.randint(-700_000, 2_900_000)) * a_day * 1000
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    if types.is_time(kind):
        return lambda: whole(draw, draw.randrange(a_day * per_second), kind.unit)
    range_of = (10**9 * 9 if kind.unit == "ns" else 10**10 * 6) * per_second
    return lambda: draw.pick(
        0,
        whole(draw, draw.randint(-range_of, range_of), kind.unit),
        draw.randint(-(2**63), 2**63 - 1) if draw.chance(20) else per_second,
        draw.randint(-3, 10**10) * per_second if kind.unit != "ns" else -per_second,
    )


def whole(draw: Draw, number: int, unit: str) -> int:
    """Nanoseconds are mostly whole microseconds: those that aren't are refused."""
    return number // 1000 * 1000 if unit == "ns" and not draw.chance(30) else number
