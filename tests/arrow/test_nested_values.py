"""Values that hold placeholders: whatever they bring in, the text is what replacing column by column gives."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED

NAMES = ["a", "b", "c", "d"]
TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
# Whole placeholders, halves of them that meet other halves, and texts that are none.
PIECES = ["{a}", "{b}", "{c}", "{d}", "{", "}", "{a", "{b", "c}", "d}", "a", "b", "{{", "}}", "问", ""]

texts = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
samples = st.lists(st.tuples(*[texts] * 4).map(lambda row: dict(zip(NAMES, row, strict=True))), min_size=1, max_size=5)


def by_columns(template: str, row: dict[str, str]) -> str:
    """Render a row as the harnesses do."""
    for name, value in row.items():
        template = template.replace("{" + name + "}", value)
    return template


def rendered(template: object, rows: list[dict[str, str]], **config: object) -> list[str]:
    return (
        pp.Renderer(template, **{"substitution": "harness", **config})
        .render(pa.Table.from_pylist(rows))["prompt"]
        .to_pylist()
    )


@UNWARNED
@given(template=texts, rows=samples)
def test_any_values_in_a_string(template: str, rows: list[dict[str, str]]) -> None:
    assert rendered(template, rows) == [by_columns(template, row) for row in rows]


@UNWARNED
@given(template=texts, rows=samples, mask=texts)
def test_what_masks_the_answer_is_looked_into_as_well(template: str, rows: list[dict[str, str]], mask: str) -> None:
    config = {"reader": {"output_column": "c"}, "inferencer": {"gen_field_replace_token": mask}}
    expected = [by_columns(template, {**row, "c": mask}) for row in rows]
    assert rendered(template, rows, **config) == expected


@UNWARNED
@given(prompts=st.lists(texts, min_size=1, max_size=3), rows=samples)
def test_each_turn_of_a_dialogue_is_filled_by_itself(prompts: list[str], rows: list[dict[str, str]]) -> None:
    template = {"round": [{"role": "HUMAN", "prompt": prompt} for prompt in prompts]}
    meta = {"round": [{"role": "HUMAN", "begin": "<", "end": ">"}]}
    expected = ["".join(f"<{by_columns(prompt, row)}>" for prompt in prompts) for row in rows]
    assert rendered(template, rows, meta_template=meta, output="text") == expected


@pytest.mark.parametrize(
    "row",
    [
        {"a": "{b}{b}", "b": "{c}{c}", "c": "{d}{d}", "d": "!"},
        {"a": "{a}", "b": "{a}{b}", "c": "x", "d": "{c}"},
        {"a": "{", "b": "b}", "c": "{b}", "d": "}"},
        {"a": "{{b}}", "b": "c", "c": "{d}", "d": ""},
        {"a": "{b", "b": "}", "c": "{", "d": "d}"},
    ],
)
def test_values_in_values(row: dict[str, str]) -> None:
    template = "{a} {b}|{c}{d}}"
    # Beside plain rows, and again and again: what one row needed serves no other.
    rows = [row, dict.fromkeys(NAMES, "plain"), row, {name: value + "{d}" for name, value in row.items()}, row]
    assert rendered(template, rows) == [by_columns(template, row) for row in rows]


@UNWARNED
@settings(max_examples=part_of(30), deadline=None)
@given(rows=samples, gap=st.sampled_from([0, 1, 5, 70]), data_type=st.sampled_from(TYPES))
def test_many_rows_whether_they_follow_each_other_or_not(
    rows: list[dict[str, str]], gap: int, data_type: pa.DataType
) -> None:
    plain = [dict.fromkeys(NAMES, "plain")] * gap
    rows = [copy for row in rows * (1_100 // len(rows) // (gap + 1)) for copy in (row, *plain)]
    columns = {name: pa.array([row[name] for row in rows], pa.string()).cast(data_type) for name in NAMES}
    table = pa.table(columns)
    assert pp.Renderer("{a} {b}|{c}{d}", substitution="harness").render(table)["prompt"].to_pylist() == [
        by_columns("{a} {b}|{c}{d}", row) for row in rows
    ]


def test_hundreds_of_values_within_each_other() -> None:
    count = 300
    row = {f"c{n}": f"{n}:{{c{n + 1}}}" for n in range(count)}
    expected = by_columns("{c0} {c7}", row)
    assert expected.startswith("0:1:2:3:")
    assert rendered("{c0} {c7}", [row] * 3) == [expected] * 3


@UNWARNED
@given(rows=samples, shots=st.lists(texts, min_size=2, max_size=2))
def test_examples_that_bring_in_placeholders(rows: list[dict[str, str]], shots: list[str]) -> None:
    examples = pa.table({"q": shots})
    renderer = pp.Renderer(
        {"template": "</E>{a}-{b}", "ice_token": "</E>"},
        {"template": "<{q}>"},
        {"type": "IndexColumn", "column": "shots"},
        examples,
        {"output_column": "q"},
        dialect="aisbench",
    )
    table = pa.Table.from_pylist([{**row, "shots": [1, 0]} for row in rows])
    joined = "".join(f"<{shot}>\n" for shot in reversed(shots))
    expected = [by_columns(joined + "{a}-{b}", row) for row in rows]
    assert renderer.render(table)["prompt"].to_pylist() == expected
