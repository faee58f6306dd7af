"""The text of a field is `str()` of the row's `to_pylist()` value: the running interpreter is the oracle."""

from __future__ import annotations

import datetime
import decimal
import sys
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpress._arrow import python_text as _text
from promptpress._core import RenderError

TEMPLATE = {"type": "PromptTemplate", "template": "{x}"}
RENDERER = pp.Renderer(prompt_template=TEMPLATE)


def rendered(column: pa.Array | pa.ChunkedArray) -> list[str]:
    return RENDERER.render(pa.table({"x": column}))["prompt"].to_pylist()


def micro(array: pa.Array) -> pa.Array:
    """Nanoseconds as microseconds: what pyarrow makes of them where pandas isn't installed."""
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return array.cast(pa.timestamp("us", kind.tz))
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return array.cast(pa.duration("us"))
    return array.cast(pa.time64("us")) if kind == pa.time64("ns") else array


def assert_same(array: pa.Array) -> None:
    assert rendered(array) == [str(value) for value in micro(array).to_pylist()]


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.text(
    "'\"\\\n\r\t\0a{} é\xa0\u2028", max_size=8
)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
whole_seconds = st.datetimes().map(lambda value: value.replace(microsecond=0))
spans = st.timedeltas(datetime.timedelta(days=-99_999), datetime.timedelta(days=99_999))
# The range of 64-bit nanoseconds.
narrow = st.datetimes(datetime.datetime(1678, 1, 1), datetime.datetime(2262, 1, 1))


def whole(unit: str) -> Any:
    """Keep what a coarser unit holds."""
    step = {"s": 10**6, "ms": 1000, "us": 1, "ns": 1}[unit]

    def keep(value: Any) -> Any:
        if isinstance(value, datetime.timedelta):
            return value - datetime.timedelta(microseconds=value.microseconds % step)
        return value.replace(microsecond=value.microsecond // step * step)

    return keep


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    context = decimal.Context(prec=100)
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(lambda number: decimal.Decimal(number).scaleb(-scale, context))


LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    *((getattr(pa, f"int{bits}")(), st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)) for bits in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{bits}")(), st.integers(0, 2**bits - 1)) for bits in (8, 16, 32, 64)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    *((kind, text) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, st.binary(max_size=20)) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.date32(), st.dates()),
    (pa.date64(), st.dates()),
    *((pa.time32(unit), st.times().map(whole(unit))) for unit in ("s", "ms")),
    *((pa.time64(unit), st.times()) for unit in ("us", "ns")),
    *((pa.timestamp(unit), st.datetimes().map(whole(unit))) for unit in ("s", "ms", "us")),
    (pa.timestamp("ns"), narrow),
    *((pa.timestamp(unit, "Europe/Paris"), narrow.map(whole(unit))) for unit in ("s", "ns")),
    *((pa.duration(unit), spans.map(whole(unit))) for unit in ("s", "ms", "us", "ns")),
    (pa.decimal128(10, 4), decimals(10, 4)),
    (pa.decimal128(38, 12), decimals(38, 12)),
    (pa.decimal128(7, -3), decimals(7, -3)),
    (pa.decimal256(76, 70), decimals(76, 70)),
    (pa.month_day_nano_interval(), st.tuples(*[st.integers(-9, 9)] * 3).map(pa.MonthDayNano)),
]


def has_nanoseconds(kind: pa.DataType) -> bool:
    return (pa.types.is_temporal(kind) and kind != pa.month_day_nano_interval()) and getattr(kind, "unit", "") == "ns"


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


@st.composite
def nested(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """A type with the values that it takes."""
    if depth == 0 or draw(st.booleans()):
        # Inside a container nanoseconds have no oracle where pandas is installed: a test of their own has them.
        return draw(st.sampled_from([leaf for leaf in LEAVES if not has_nanoseconds(leaf[0])]))
    shape = draw(st.sampled_from(["list", "large_list", "list_view", "fixed", "struct", "map"]))
    if shape == "struct":
        fields = draw(st.dictionaries(names, nested(depth=depth - 1), max_size=3))
        kind = pa.struct([pa.field(name, field) for name, (field, _) in fields.items()])
        return kind, st.fixed_dictionaries({name: nullable(values) for name, (_, values) in fields.items()})
    kind, values = draw(nested(depth=depth - 1))
    if shape == "map":
        entries = st.lists(st.tuples(text, nullable(values)), max_size=3)
        return pa.map_(pa.string(), kind), entries
    if shape == "fixed":
        return pa.list_(kind, 2), st.lists(nullable(values), min_size=2, max_size=2)
    make = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view}[shape]
    return make(kind), st.lists(nullable(values), max_size=3)


@st.composite
def arrays(draw: st.DrawFn, kinds: st.SearchStrategy[Any]) -> pa.Array:
    """A slice of an array of some kind, as it is or behind keys or runs."""
    kind, values = draw(kinds)
    array = pa.array(draw(st.lists(nullable(values), max_size=8)), kind)
    wrapping = draw(st.sampled_from(["plain", "plain", "keys", "runs"])) if len(array) else "plain"
    if wrapping == "keys":
        keys = draw(st.lists(nullable(st.integers(0, len(array) - 1)), max_size=8))
        index = draw(st.sampled_from([pa.int8(), pa.uint16(), pa.int32(), pa.int64()]))
        array = pa.DictionaryArray.from_arrays(pa.array(keys, index), array)
    elif wrapping == "runs":
        ends = [2 * end for end in range(1, len(array) + 1)]
        array = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), array)
    start = draw(st.integers(0, len(array)))
    return array.slice(start, draw(st.integers(0, len(array) - start)))


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: str(leaf[0]))
@given(data=st.data())
@settings(max_examples=part_of(60), deadline=None)
def test_values_of_each_type(leaf: tuple[pa.DataType, st.SearchStrategy[Any]], data: st.DataObject) -> None:
    kind, values = leaf
    array = pa.array(data.draw(st.lists(nullable(values), max_size=10)), kind)
    assert_same(array.slice(data.draw(st.integers(0, len(array)))))


@given(arrays(nested()))
@settings(max_examples=part_of(400), deadline=None)
def test_values_of_any_type(array: pa.Array) -> None:
    assert_same(array)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=50))
@settings(max_examples=part_of(300), deadline=None)
def test_floats_of_every_bit_pattern(patterns: list[int]) -> None:
    assert_same(pa.array(patterns, pa.uint64()).view(pa.float64()))
    half = pa.array([pattern % 2**16 for pattern in patterns], pa.uint16()).view(pa.float16())
    # Older pyarrow gives numpy's half floats, which print fewer digits; it is Python's float that counts.
    assert rendered(half) == [str(float(value)) for value in half.to_pylist()]


def test_every_character_is_quoted_as_here() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    assert_same(pa.array([["".join(characters[start : start + 100])] for start in range(0, len(characters), 100)]))


def test_the_bitmap_is_isprintable() -> None:
    bitmap = _text.printable_bitmap()
    assert len(bitmap) * 8 == sys.maxunicode + 1
    assert [
        code for code in range(sys.maxunicode + 1) if (bitmap[code // 8] >> code % 8 & 1) != chr(code).isprintable()
    ] == []


@pytest.mark.parametrize("zone", [None, "Europe/Paris", "+05:30"])
def test_nanoseconds_are_datetimes_with_or_without_pandas(zone: str | None) -> None:
    counts = [0, None, 1_000_000_007_000_000]
    coarse = pa.array(counts, pa.int64()).view(pa.timestamp("us", zone))
    fine = coarse.cast(pa.timestamp("ns", zone))
    assert rendered(fine) == [str(value) for value in coarse.to_pylist()]
    assert rendered(pa.array([[0]], pa.list_(pa.timestamp("ns", zone)))) == [
        str(pa.array([[0]], pa.list_(pa.timestamp("us", zone))).to_pylist()[0])
    ]


@pytest.mark.parametrize(
    ("array", "row"),
    [
        (pa.array([0, 1], pa.int64()).view(pa.timestamp("ns")), 1),
        (pa.array([0, 1], pa.int64()).view(pa.timestamp("ns", "UTC")), 1),
        (pa.array([0, None, 10**17], pa.int64()).view(pa.timestamp("s", "UTC")), 2),
        (pa.array([1], pa.int64()).view(pa.duration("ns")), 0),
        (pa.array([1, 10**8], pa.int32()).view(pa.date32()), 1),
        (pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), 0),
        (pa.array([1], pa.int64()).cast(pa.decimal128(38, 0)).view(pa.decimal128(38, 39)), 0),
    ],
    ids=str,
)
def test_values_that_python_lacks_are_errors(array: pa.Array, row: int) -> None:
    with pytest.raises(RenderError, match=rf'row {row}, column "x": '):
        rendered(pa.chunked_array([array]))
    # The row counts from the start of the table, whatever the chunks.
    with pytest.raises(RenderError, match=rf'row {row + 1}, column "x": '):
        rendered(pa.chunked_array([array.slice(0, 0), pa.array([None], array.type), array]))


def test_types_that_need_python() -> None:
    kinds = pa.array([0, 1, 1], pa.int8())
    union = pa.UnionArray.from_sparse(kinds, [pa.array([1, None, 3]), pa.array(["a", None, "c"])])
    assert_same(union)
    assert_same(pa.array(range(3)).view(pa.timestamp("s", "Asia/Kathmandu")))
    storage = pa.array([bytes(range(16)), None], pa.binary(16))
    if hasattr(pa, "uuid"):
        assert_same(pa.ExtensionArray.from_storage(pa.uuid(), storage))
    assert_same(pa.StructArray.from_arrays([pa.array([1, 2])], ["with\0nul"]))


@pytest.mark.parametrize("size", [0, 1, 3])
def test_slices_of_structs_in_structs(size: int) -> None:
    rows = [{"a": {"b": n, "c": [{"d": str(n)}]}} for n in range(5)]
    array = pa.array(rows)
    for start in range(5 - size):
        assert_same(array.slice(start, size))
    fixed = pa.array([[{"a": n}, {"a": -n}] for n in range(5)], pa.list_(pa.struct([("a", pa.int64())]), 2))
    assert_same(fixed.slice(2, size))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
@pytest.mark.parametrize(
    "values", [[], [None, None], ["a", None, "", "longer than twelve bytes é"]], ids=["empty", "null", "mixed"]
)
def test_string_layouts(kind: pa.DataType, values: list[str | None]) -> None:
    array = pa.array(values, kind)
    expected = [str(value) for value in values]
    assert rendered(array) == expected
    assert rendered(pa.chunked_array([array, array.slice(1), array.slice(0, 0)], kind)) == expected + expected[1:]


def test_invalid_utf8_names_the_row() -> None:
    offsets, data = pa.array([0, 2, 4], pa.int32()).buffers()[1], pa.py_buffer(b"okb\xff")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    with pytest.raises(RenderError, match='row 1, column "x": invalid UTF-8'):
        rendered(broken)
