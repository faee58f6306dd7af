"""Rows whose values are printed are taken in parts: what is odd about one of many, wherever its part begins and ends.

The oracle is Python's own `str` and `str.replace`, one column after the other, as the harnesses fill their templates.
"""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED

ROWS = 9001
EDGE_ROWS = [0, 1, 4095, 4096, 4097, 8191, 8192, 9000]
LONG = "long " * 150
TEXTS = ["", "é", "{", "}", "{q}", "{last}", "x{items}", "st}", "it's", 'a "b" it\'s', "\\", "line\nline", LONG, None]
COLUMNS = ("q", "number", "score", "items", "kind", "pair", "last")
TYPES = {
    "q": pa.string(),
    "number": pa.int64(),
    "score": pa.float64(),
    "items": pa.list_(pa.string()),
    "kind": pa.dictionary(pa.int8(), pa.string()),
    "pair": pa.struct({"a": pa.string(), "b": pa.bool_()}),
    "last": pa.string(),
}


def plain(row: int) -> dict[str, Any]:
    return {
        "q": f"question {row}",
        "number": row * 37 % 1001,
        "score": row / 8,
        "items": [f"one {row}", "two"],
        "kind": ["a", "b's", None][row % 3],
        "pair": {"a": "it", "b": row % 2 == 0},
        "last": "end" * (row % 5),
    }


odd_values = {
    "q": st.sampled_from(TEXTS),
    "number": st.sampled_from([None, -(2**63), 2**63 - 1]),
    "score": st.sampled_from([None, float("nan"), float("inf"), -0.0, 1e300, 5e-324]),
    "items": st.one_of(st.none(), st.lists(st.sampled_from(TEXTS), max_size=5)),
    "kind": st.sampled_from(TEXTS),
    "pair": st.one_of(st.none(), st.builds(lambda a, b: {"a": a, "b": b}, st.sampled_from(TEXTS), st.booleans())),
    "last": st.sampled_from(TEXTS),
}
odd_rows = st.dictionaries(
    st.sampled_from(EDGE_ROWS), st.fixed_dictionaries({}, optional=odd_values), min_size=0, max_size=5
)
templates = st.lists(
    st.sampled_from([*("{" + name + "}" for name in COLUMNS), " and ", "{", LONG]), min_size=1, max_size=8
).map("".join)


def table_of(rows: list[dict[str, Any]], types: dict[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in COLUMNS})


def filled(template: str, row: dict[str, Any]) -> str:
    for name in COLUMNS:
        template = template.replace("{" + name + "}", str(row[name]))
    return template


@UNWARNED
@settings(deadline=None, max_examples=25)
@given(odd_rows, templates, st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]), st.integers(0, 3000))
def test_odd_rows_among_printed_ones(
    odd: dict[int, dict[str, Any]], template: str, layout: pa.DataType, skipped: int
) -> None:
    rows = [plain(row) | odd.get(row, {}) for row in range(ROWS)]
    table = table_of(rows, {**TYPES, "q": layout, "last": layout}).slice(skipped)
    rendered = pp.Renderer(template, substitution="harness").render(table)["prompt"].to_pylist()
    assert rendered == [filled(template, row) for row in rows[skipped:]]


@UNWARNED
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("config", ["labels", "messages", "views"])
def test_every_kind_of_output_is_that_of_a_few_rows_at_a_time(threads: int, config: str) -> None:
    dialogue = {"round": [{"role": "HUMAN", "prompt": "{q} {items}"}, {"role": "BOT", "prompt": "{number}: {score}"}]}
    renderer = {
        "labels": pp.Renderer({"x": "{q}{items} x", "y": "{items} {score}", "z": "none"}, mode="ppl"),
        "messages": pp.Renderer({"template": dialogue}, output="messages"),
        "views": pp.Renderer("{q} {pair} {number}", strings="string_view"),
    }[config]
    table = table_of([plain(row) for row in range(ROWS)], TYPES)
    pp.set_threads(threads)
    try:
        whole = renderer.render(table)
    finally:
        pp.set_threads(None)
    few = pa.concat_tables([renderer.render(table.slice(start, 1000)) for start in range(0, ROWS, 1000)])
    assert whole["prompt"].to_pylist() == few["prompt"].to_pylist()


@pytest.mark.parametrize("row", EDGE_ROWS)
def test_a_value_without_text_is_found_in_its_row(row: int) -> None:
    days = [0] * ROWS
    days[row] = 4_000_000  # after the year 9999
    table = pa.table({"n": list(range(ROWS)), "day": pa.array(days, pa.int32()).cast(pa.date32())})
    with pytest.raises(pp.RenderError) as error:
        pp.Renderer("{n} {day}").render(table)
    assert (error.value.row, error.value.column) == (row, "day")


@pytest.mark.parametrize("row", EDGE_ROWS)
def test_a_prompt_that_is_too_long_is_found_in_its_row(row: int) -> None:
    items = [["short"]] * ROWS
    items[row] = ["long" * 300]
    table = pa.table({"n": list(range(ROWS)), "items": pa.array(items)})
    with pytest.raises(pp.RenderError) as error:
        pp.Renderer("{n} {items}", limits={"prompt_bytes": 1000}).render(table)
    assert (error.value.code, error.value.row) == ("limit_exceeded", row)
    fine = table.filter(pa.array([n != row for n in range(ROWS)]))
    assert pp.Renderer("{n} {items}", limits={"prompt_bytes": 1000}).render(fine).num_rows == ROWS - 1


@pytest.mark.parametrize("growing", [True, False])
def test_parts_of_other_lengths_than_the_first(growing: bool) -> None:
    counts = range(ROWS) if growing else range(ROWS, 0, -1)
    items = [["x" * (n // 20)] for n in counts]
    table = pa.table({"items": pa.array(items)})
    assert pp.Renderer("{items}").render(table)["prompt"].to_pylist() == [str(item) for item in items]
