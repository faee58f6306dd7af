"""The text of a field is `str()` of the row's `to_pylist()` value: the running interpreter is the oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from fuzz.arrays import any_type, array_of, leaf_type
from fuzz.draw import Draw
from fuzz.values import UNPRINTABLE, values_of
from generators.strategies import drawn
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


def text(draw: Draw) -> str:
    return "".join(draw.some([*"'\"\\\n\r\t\0a{} é\xa0\u2028\U0001f600", "longer than twelve bytes"], 6))


def arrays(type_of: Callable[[Draw], pa.DataType]) -> st.SearchStrategy[pa.Array]:
    return drawn(lambda draw: array_of(draw, type_of(draw), draw.randint(0, 8), text))


def check(array: pa.Array) -> None:
    values = values_of(pa.chunked_array([array]))
    if any(value is UNPRINTABLE for value in values):
        with pytest.raises(RenderError, match='column "x": '):
            rendered(array)
    else:
        assert rendered(array) == [str(value) for value in values]


@given(arrays(leaf_type))
@settings(max_examples=part_of(1600), deadline=None)
def test_values_of_types_without_children(array: pa.Array) -> None:
    check(array)


@given(arrays(any_type))
@settings(max_examples=part_of(400), deadline=None)
def test_values_of_any_type(array: pa.Array) -> None:
    check(array)


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
