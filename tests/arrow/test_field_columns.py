"""Columns that aren't plain strings, in bulk: printed by blocks and threads, looked up where null or picked."""

from __future__ import annotations

import datetime
import math
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import heavy
from promptpress._core import RenderError

ROWS = 20_000
SMALL_BLOCK_ROWS = 70
RENDERER = pp.Renderer(prompt_template={"type": "PromptTemplate", "template": "{q}|{x}|{q} {x}."})


@pytest.fixture(autouse=True, params=[3, *heavy(1)])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    pp.set_threads(request.param)
    yield
    pp.set_threads(None)


def questions(rows: int) -> list[str]:
    return [f"question {row} {'é' * (row % 7)}" for row in range(rows)]


def assert_shown(column: pa.Array, expected_texts: list[str] | None = None, kind: pa.DataType | None = None) -> None:
    rows = len(column)
    texts = [str(value) for value in column.to_pylist()] if expected_texts is None else expected_texts
    question_texts = questions(rows)
    table = pa.table({"q": pa.array(question_texts, kind or pa.string()), "x": column})
    expected = [f"{q}|{x}|{q} {x}." for q, x in zip(question_texts, texts, strict=True)]
    assert RENDERER.render(table)["prompt"].to_pylist() == expected
    cut = table.slice(rows // 3, rows // 2)
    assert RENDERER.render(cut)["prompt"].to_pylist() == expected[rows // 3 : rows // 3 + rows // 2]


def some_null(values: list[Any], draw: random.Random) -> list[Any]:
    return [value if draw.random() < 0.6 else None for value in values]


@pytest.mark.parametrize("rows", [1, SMALL_BLOCK_ROWS, ROWS])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_strings_with_nulls(rows: int, kind: pa.DataType) -> None:
    draw = random.Random(1)
    values = some_null(["x" * draw.choice([0, 3, 31, 32, 33, 63, 64, 65, 300, 600]) + "ß" for _ in range(rows)], draw)
    assert_shown(pa.array(values, kind))
    assert_shown(pa.array(values, kind), kind=pa.large_string())
    assert_shown(pa.array([None] * rows, kind))


def test_bytes_of_nulls_are_never_read() -> None:
    for hidden in (b"\xff\xfe", b"{q}", "é".encode()[:1]):
        data = b"one" + hidden + b"two"
        offsets = struct.pack("<4i", 0, 3, 3 + len(hidden), len(data))
        valid = pa.py_buffer(bytes([0b101]))
        column = pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(data), valid)
        assert_shown(column, ["one", "None", "two"])


ODD_ROWS = [0, 4095, 4096, 16_383, 16_384, ROWS - 1]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("odd", ODD_ROWS)
@pytest.mark.parametrize("value", [None, "{x}{q}", "é" * 700])
def test_one_odd_string_next_to_numbers_in_any_part(kind: pa.DataType, odd: int, value: str | None) -> None:
    question_texts: list[str | None] = [*questions(ROWS)]
    question_texts[odd] = value
    numbers = range(ROWS)
    table = pa.table({"q": pa.array(question_texts, kind), "x": pa.array(numbers, pa.int64())})
    expected = []
    for q, x in zip(question_texts, numbers, strict=True):
        # Column by column, in the table's order: what a question brings in is filled in by the columns behind it.
        text = "{q}|{x}|{q} {x}.".replace("{q}", str(q)).replace("{x}", str(x))
        expected.append(text)
    assert RENDERER.render(table)["prompt"].to_pylist() == expected
    cut = table.slice(ROWS // 3)
    assert RENDERER.render(cut)["prompt"].to_pylist() == expected[ROWS // 3 :]


@pytest.mark.parametrize("odd", ODD_ROWS)
def test_a_broken_string_next_to_numbers_is_named(odd: int) -> None:
    texts = [b"text"] * ROWS
    texts[odd] = b"\xff\xfe"
    broken = pa.array(texts, pa.binary()).view(pa.string())
    with pytest.raises(RenderError) as error:
        RENDERER.render(pa.table({"q": broken, "x": pa.array(range(ROWS), pa.int64())}))
    assert (error.value.row, error.value.column) == (odd, "q")


def test_placeholders_among_values_with_nulls_are_filled() -> None:
    template = {"type": "PromptTemplate", "template": "{x}{q}"}
    renderer = pp.Renderer(prompt_template=template)
    rows = 3000
    values = ["{q}" if row == rows - 1 else None if row % 3 else "v" for row in range(rows)]
    table = pa.table({"x": values, "q": ["Q"] * rows})
    assert renderer.render(table)["prompt"].to_pylist() == [str(value).replace("{q}", "Q") + "Q" for value in values]


@pytest.mark.parametrize("keys", [pa.int8(), pa.int32(), *heavy(pa.uint16(), pa.int64())])
@pytest.mark.parametrize("values", [["A", "B", "", "D" * 40], ["only"], [None, "B"], [7, 10**18], [1.5, None]])
def test_dictionaries(keys: pa.DataType, values: list[Any]) -> None:
    draw = random.Random(2)
    picks = [draw.randrange(len(values)) for _ in range(ROWS)]
    for chosen in (picks, some_null(picks, draw), [None] * 5, picks[:2]):
        column = pa.DictionaryArray.from_arrays(pa.array(chosen, keys), pa.array(values))
        assert_shown(column)
        assert_shown(column, kind=pa.large_string())


def test_dictionaries_of_more_values_than_rows() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([900, 3, None], pa.int32()), pa.array(map(str, range(1000))))
    assert_shown(column, ["900", "3", "None"])


def test_values_of_a_dictionary_that_nobody_picks_may_be_anything() -> None:
    offsets = pa.py_buffer(struct.pack("<3i", 0, 2, 5))
    values = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xff\xffabc"))
    column = pa.DictionaryArray.from_arrays(pa.array([1] * 5, pa.int8()), values)
    assert_shown(column, ["abc"] * 5)
    bad = pa.DictionaryArray.from_arrays(pa.array([1, 1, 0, 1, 0], pa.int8()), values)
    with pytest.raises(RenderError, match="row 2"):
        RENDERER.render(pa.table({"q": questions(5), "x": bad}))


def test_placeholders_in_a_dictionary_count_where_they_are_shown() -> None:
    values = pa.array(["{q}", "plain", "{other"])
    renderer = pp.Renderer(prompt_template={"type": "PromptTemplate", "template": "{x}-{q}"})
    for picks in ([1] * 100, [1, 0, 2] * 40):
        column = pa.DictionaryArray.from_arrays(pa.array(picks, pa.int32()), values)
        table = pa.table({"x": column, "q": ["Q"] * len(picks)})
        expected = [values[pick].as_py().replace("{q}", "Q") + "-Q" for pick in picks]
        assert renderer.render(table)["prompt"].to_pylist() == expected


@pytest.mark.parametrize("rows", [1, 63, 64, 65, ROWS])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_booleans(rows: int, kind: pa.DataType) -> None:
    draw = random.Random(2)
    values = [draw.random() < 0.5 for _ in range(rows)]
    assert_shown(pa.array(values), kind=kind)
    assert_shown(pa.array(some_null(values, draw), pa.bool_()), kind=kind)
    assert_shown(pa.array([None] * rows, pa.bool_()), kind=kind)
    for cut in (1, 7, 64, 65):
        assert_shown(pa.array([True] * cut + values).slice(cut), kind=kind)


def test_few_values_next_to_literals_of_any_length() -> None:
    """As the same texts in plain columns, whose values are copied one by one."""
    draw = random.Random(3)
    lengths = [0, 0, 1, 8, 15, 16, 17, 31, 32, 33, 64, 65, 256, 257, 600, 3000]
    for _ in range(part_of(120)):
        rows = draw.choice([1, 15, 16, 17, 300, 6000])
        columns: dict[str, pa.Array] = {"q": pa.array(questions(rows), draw.choice([pa.string(), pa.large_string()]))}
        for name in "abc":
            values = [
                draw.choice("xyzé") * draw.choice(lengths[: draw.choice([8, 16])]) for _ in range(draw.randint(1, 9))
            ]
            picks = [draw.randrange(len(values)) for _ in range(rows)]
            column = pa.DictionaryArray.from_arrays(pa.array(picks, pa.int16()), pa.array(values, columns["q"].type))
            truths = pa.array([pick % 2 == 0 for pick in picks])
            columns[name] = draw.choice([column, column, truths, column.dictionary_decode()])
        table = pa.table(columns)
        plain = pa.table({name: pa.array(map(str, column.to_pylist())) for name, column in columns.items()})
        template = "".join(
            draw.choice(["", "|", "é", "-" * draw.choice(lengths)]) + f"{{{draw.choice('abcq')}}}" for _ in range(5)
        )
        template += draw.choice(["", ".", "." * draw.choice(lengths)])
        dialogue = {"round": [{"role": "HUMAN", "prompt": template}, {"role": "BOT", "prompt": "{a}"}]}
        by_label = {"A": template + "{b}", "B": "{a}" + template}
        for options in (
            {"prompt_template": template},
            {"prompt_template": {"type": "PromptTemplate", "template": dialogue}, "output": "messages"},
            {"prompt_template": {"type": "PromptTemplate", "template": dialogue}, "output": "messages_json"},
            {"prompt_template": {"type": "PromptTemplate", "template": by_label}, "mode": "ppl", "labels": ["A", "B"]},
        ):
            renderer = pp.Renderer(**options)
            assert renderer.render(table).equals(renderer.render(plain))


def test_numbers() -> None:
    draw = random.Random(3)
    integers = [draw.choice([-1, 1]) * draw.randrange(10 ** draw.randrange(1, 19)) for _ in range(ROWS)]
    assert_shown(pa.array(integers, pa.int64()))
    assert_shown(pa.array(some_null(integers, draw), pa.int64()))
    assert_shown(pa.array([abs(value) * 9 % 2**64 for value in integers], pa.uint64()), kind=pa.large_string())
    assert_shown(pa.array(some_null([value % 2 == 0 for value in integers], draw)))
    assert_shown(pa.nulls(ROWS))


def test_floats_of_any_bits() -> None:
    draw = random.Random(4)
    bits = (struct.unpack("<d", draw.randbytes(8))[0] for _ in range(ROWS // 2))
    ordinary = (draw.uniform(-10, 10) * 10.0 ** draw.randrange(-12, 20) for _ in range(ROWS // 2))
    short = (round(draw.uniform(-1, 1), draw.randrange(12)) for _ in range(ROWS // 2))
    values = [*bits, *ordinary, *short, *(math.ldexp(1, n) for n in range(-1074, 1024))]
    assert_shown(pa.array(values), [repr(value) for value in values])


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("unit", PER_SECOND)
def test_timestamps(unit: str) -> None:
    draw = random.Random(5)
    least, most = datetime.datetime.min, datetime.datetime.max
    if unit == "ns":
        # What 64 bits hold.
        least, most = datetime.datetime(1677, 9, 22), datetime.datetime(2262, 4, 11)
    seconds = [draw.randrange(int((most - least).total_seconds())) for _ in range(ROWS)]
    step = max(10**6 // PER_SECOND[unit], 1)
    values = [
        least + datetime.timedelta(seconds=second, microseconds=draw.choice([0, draw.randrange(10**6) // step * step]))
        for second in seconds
    ]
    # By what it was made of: with pandas, pyarrow gives nanoseconds as values of another class.
    values.append(least)
    assert_shown(pa.array([*values, None], pa.timestamp(unit)), [*map(str, values), "None"])
    assert_shown(pa.array([value.date() for value in values], pa.date32()))


@pytest.mark.parametrize("unit", PER_SECOND)
def test_times_and_durations(unit: str) -> None:
    draw, day = random.Random(6), 86_400 * PER_SECOND[unit]
    step = max(PER_SECOND[unit] // 10**6, 1)
    edges = [0, step, PER_SECOND[unit], day - step]
    counts = [draw.randrange(day) // step * step for _ in range(ROWS)] + edges
    spans = [draw.randrange(-(10**4) * day, 10**4 * day) // step * step for _ in range(ROWS)]
    spans += [sign * span for span in (*edges, day) for sign in (1, -1)]

    def delta(count: int) -> datetime.timedelta:
        return datetime.timedelta(microseconds=count * 10**6 // PER_SECOND[unit])

    times = [str((datetime.datetime.min + delta(count)).time()) for count in counts]
    assert_shown(pa.array(counts, (pa.time32 if unit in {"s", "ms"} else pa.time64)(unit)), times)
    assert_shown(pa.array(spans, pa.duration(unit)), [str(delta(count)) for count in spans])


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ns"), pa.date32(), pa.date64()], ids=str)
def test_what_is_no_moment_counts_where_it_is_not_null(kind: pa.DataType) -> None:
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    beyond = 2**31 - 1 if kind == pa.date32() else 2**62 + 1
    counts = [beyond if row % 3 == 1 else 0 for row in range(ROWS)]
    day = str(pa.scalar(0, whole).cast(kind).as_py())

    def column(null: Callable[[int], bool]) -> pa.Array:
        valid = pa.array([None if null(row) else 0 for row in range(ROWS)], pa.int8()).buffers()[0]
        return pa.Array.from_buffers(kind, ROWS, [valid, pa.array(counts, whole).buffers()[1]])

    expected = ["None" if row % 3 == 1 else day for row in range(ROWS)]
    assert_shown(column(lambda row: row % 3 == 1), expected)
    one_left = column(lambda row: row % 3 == 1 and row != 301)
    with pytest.raises(RenderError) as caught:
        RENDERER.render(pa.table({"q": questions(ROWS), "x": one_left}))
    assert caught.value.row == 301


def test_lists_of_texts() -> None:
    draw = random.Random(6)
    texts = [
        "plain",
        "",
        "it's",
        'a "quote"',
        "back\\slash",
        "é",
        "x" * 29,
        "x" * 30,
        "x" * 31,
        "x" * 32,
        "x" * 90,
        "\n",
    ]
    values = [[draw.choice([*texts, None]) for _ in range(draw.randrange(5))] for _ in range(ROWS // 4)]
    assert_shown(pa.array(values, pa.list_(pa.string())))
    assert_shown(pa.array([["only"]], pa.list_(pa.large_string())))


@pytest.mark.parametrize("bad", [[12_345], [9, 12_345], [12_345, 19_999]])
def test_the_first_row_that_fails_is_named(bad: list[int]) -> None:
    values = [2**62 if row in bad else row for row in range(ROWS)]
    table = pa.table({"q": questions(ROWS), "x": pa.array(values, pa.timestamp("s"))})
    with pytest.raises(RenderError, match=f"row {bad[0]}\\b") as caught:
        RENDERER.render(table)
    assert (caught.value.row, caught.value.column) == (bad[0], "x")
