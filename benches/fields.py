"""Columns of each Arrow type whose texts cost something of their own, for the bench of what a field costs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from texts import SEED, multiple_choice, repeated

Draw = random.Random
DAYS = 86_400_000_000  # microseconds
START = 1_700_000_000_000_000  # microseconds from 1970 to 2023


def drawn(of: Callable[[Draw], Any], kind: pa.DataType | None = None) -> Callable[[Draw, int], pa.Array]:
    return lambda draw, rows: pa.array([of(draw) for _ in range(rows)], kind)


def word(draw: Draw) -> str:
    return "".join(draw.choices("etaoinshrdlu", k=draw.randint(4, 16)))


def or_null(of: Callable[[Draw], Any]) -> Callable[[Draw], Any]:
    return lambda draw: of(draw) if draw.random() < 0.75 else None


def dictionary(draw: Draw, rows: int) -> pa.Array:
    values = pa.array([word(draw) for _ in range(200)])
    return pa.DictionaryArray.from_arrays(pa.array(draw.choices(range(200), k=rows), pa.int32()), values)


COLUMNS: dict[str, Callable[[Draw, int], pa.Array]] = {
    "string": drawn(word),
    "int64": drawn(lambda draw: draw.randrange(-(10**6), 10**6), pa.int64()),
    "float64": drawn(lambda draw: draw.uniform(-100, 100)),
    "bool": drawn(lambda draw: draw.random() < 0.5),
    "string with nulls": drawn(or_null(word)),
    "dictionary": dictionary,
    "timestamp": drawn(lambda draw: START + draw.randrange(1000 * DAYS), pa.timestamp("us")),
    "list of 3 ints": drawn(lambda draw: [draw.randrange(10**4) for _ in range(3)], pa.list_(pa.int64())),
    "list of 2 strings": drawn(lambda draw: [word(draw), word(draw)], pa.list_(pa.string())),
    "struct": drawn(lambda draw: {"name": word(draw), "count": draw.randrange(10**4), "score": draw.random()}),
}
ABOUT = {
    "string": "4 to 16 letters",
    "int64": "up to 6 digits",
    "float64": "14 to 17 digits",
    "string with nulls": "a quarter of them null",
    "dictionary": "200 strings",
    "timestamp": "microseconds, in no order",
    "struct": "a string, an integer, a float",
}


def question_and_field(kind: str, count: int) -> pa.Table:
    """A question, and the column `value` of one of the types; no question names it in braces."""
    base = multiple_choice()
    assert not any("{value}" in text for text in base["input"].to_pylist()), "it would be filled in without being shown"
    column = COLUMNS[kind](random.Random(f"{SEED} {kind}"), base.num_rows)
    return repeated(pa.table({"question": base["input"], "value": column}), count)


def template(field: str) -> dict[str, str]:
    return {"type": "PromptTemplate", "template": f"Question: {{question}}\nValue: {field}\nAnswer:"}
