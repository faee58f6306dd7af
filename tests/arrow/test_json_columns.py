"""Columns of JSON: their texts and values are those of `json.loads`, wherever they stand."""

from __future__ import annotations

import json
import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from generators.json_texts import broken, json_text
from marks import heavy
from promptpress._arrow.json_columns import json_array, json_field, json_values
from promptpress._arrow.python_text import json_on_one_line

RENDERER = pp.Renderer("{v}")
AT_ONCE = 2_000
SEEDS = [*range(2), *heavy(*range(2, 500))]
"""A million values in all."""


def table(array: Any) -> pa.Table:
    field = json_field("v") if array.type == json_field("v").type else pa.field("v", array.type)
    return pa.Table.from_arrays([array], schema=pa.schema([field]))


def prompts(samples: Any, renderer: Any = RENDERER) -> list[str]:
    texts: list[str] = renderer.render(samples)["prompt"].to_pylist()
    return texts


def loads(text: str) -> tuple[bool, Any]:
    """Return whether a text is JSON whose `str` Arrow holds, and its value."""
    try:
        value = json.loads(text)
        str(value).encode()
    except ValueError:
        return False, None
    return True, value


def drawn_texts(drawn: random.Random, count: int) -> list[str]:
    return [json_text(drawn) for _ in range(count)]


def as_lists(texts: list[str]) -> tuple[pa.Array, list[Any]]:
    ends = list(range(0, len(texts) + 1, 4))
    array = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), json_array(texts[: ends[-1]]))
    return array, [[json.loads(text) for text in texts[start : start + 4]] for start in ends[:-1]]


def as_structs(texts: list[str]) -> tuple[pa.Array, list[Any]]:
    array = pa.StructArray.from_arrays([json_array(texts), pa.array(range(len(texts)))], names=["x", "n"])
    return array, [{"x": json.loads(text), "n": n} for n, text in enumerate(texts)]


def as_dictionary(texts: list[str]) -> tuple[pa.Array, list[Any]]:
    keys = [n // 3 for n in range(len(texts))]
    array = pa.DictionaryArray.from_arrays(pa.array(keys, pa.int32()), json_array(texts))
    return array, [json.loads(texts[key]) for key in keys]


def as_maps(texts: list[str]) -> tuple[pa.Array, list[Any]]:
    keys = pa.array([f"k{n}" for n in range(len(texts))])
    ends = list(range(0, len(texts) + 1, 2))
    array = pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, json_array(texts))
    pairs = [(f"k{n}", json.loads(text)) for n, text in enumerate(texts)]
    return array, [pairs[start : start + 2] for start in ends[:-1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_texts_are_those_of_python(seed: int) -> None:
    """They stand alone, within lists, structs, maps and a dictionary, and in rows of Python's values."""
    drawn = random.Random(seed)
    texts = drawn_texts(drawn, AT_ONCE)
    parsed = [(text, value) for text in texts for is_parsed, value in [loads(text)] if is_parsed]
    texts, wanted = [text for text, _ in parsed], [value for _, value in parsed]
    assert prompts(table(json_array(texts))) == list(map(str, wanted))
    written = json_on_one_line(json_array(texts), "v").to_pylist()
    assert not any("\n" in text for text in written)
    without_nan = [json.loads(text, parse_constant=lambda _: None) for text in texts]
    assert list(map(str, map(json.loads, written))) == list(map(str, without_nan))
    for nested in (as_lists, as_structs, as_maps, as_dictionary):
        some = texts[: AT_ONCE // 4]
        array, values = nested(some)
        assert prompts(table(array)) == list(map(str, values))
        assert prompts(table(array.slice(7, 50))) == list(map(str, values[7:57]))
        assert list(map(str, json_values(array, table(array).schema.field(0), pa.Array.to_pylist))) == list(
            map(str, values)
        )
    rows = [{"v": value} for value in wanted[: AT_ONCE // 4]]
    assert prompts(rows) == [str(row["v"]) for row in rows]


@pytest.mark.parametrize("seed", range(part_of(200)))
def test_what_is_no_json_is_an_error_of_the_row_that_shows_it(seed: int) -> None:
    drawn = random.Random(seed)
    texts = [broken(drawn, text) for text in drawn_texts(drawn, 50)]
    samples = pa.Table.from_arrays(
        [json_array(texts), pa.array(["q"] * len(texts))],
        schema=pa.schema([json_field("v"), pa.field("q", pa.string())]),
    )
    assert prompts(samples, pp.Renderer("{q}")) == ["q"] * len(texts)
    made = RENDERER.render(samples, errors="column")
    for text, prompt, error in zip(texts, made["prompt"].to_pylist(), made["error"].to_pylist(), strict=True):
        is_known, value = loads(text)
        assert (prompt, error is None) == ((str(value), True) if is_known else (None, False)), text
