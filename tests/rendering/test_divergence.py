"""`divergence` against its meaning: the rows in which two renders, one under each way of substituting, differ."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from comparing import clean, with_kept_braces
from generators.strategies import Case, cases, media_cases
from hypothesis import assume, given, settings
from marks import UNWARNED
from parts.filled_rows import check_last_run
from test_against_model import QUICK

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED

WAYS = ("harness", "single_pass")
COLUMNS = ("q", "a", "z")
META = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<H>", "end": "{q}", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "{", "end": "}", "api_role": "BOT", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "begin": "<S>", "api_role": "SYSTEM"}],
}


def requests(table: pa.Table) -> list[Any]:
    return list(clean(table["prompt"].to_pylist()))


def rows_apart(config: dict[str, Any], samples: pa.Table, examples: pa.Table | None = None) -> list[int] | None:
    """The rows in which two renders differ; None where one way refuses."""
    plain = with_kept_braces(config, samples, examples)
    if plain is None:
        return None
    ways = ({**config, "substitution": "harness"}, plain)
    try:
        filled, copied = (requests(pp.Renderer(**way, examples=examples).render(samples)) for way in ways)
    except (pp.TemplateError, pp.RenderError):
        return None
    each = len(filled) // max(len(samples), 1) or 1
    return sorted({index // each for index, (a, b) in enumerate(zip(filled, copied, strict=True)) if a != b})


def check(config: dict[str, Any], samples: pa.Table, examples: pa.Table | None = None) -> list[int] | None:
    want = rows_apart(config, samples, examples)
    if want is None:
        return None
    columns_of_tables = {*samples.column_names, *(examples.column_names if examples is not None else ())}
    columns_of_tables.add((config.get("reader") or {}).get("output_column"))
    for way in WAYS:
        divergence = pp.Renderer(**{**config, "substitution": way}, examples=examples).divergence(samples)
        assert divergence["row"].to_pylist() == want
        for columns in divergence["columns"].to_pylist():
            assert len(set(columns)) == len(columns)
            assert set(columns) <= columns_of_tables
            assert columns or has_tokens(config) or may_overlap(columns_of_tables)
    renderer = pp.Renderer(**{**config, "substitution": "harness"}, examples=examples)
    divergent = renderer.divergence(samples).to_pylist()
    renderer.render(samples)
    check_last_run(renderer, divergent)
    empty = pa.RecordBatch.from_pylist([], samples.schema)
    for most in (1, 2):
        with suppress(pp.TemplateError):  # labels that are the values of a column aren't known to a stream
            renderer.stream([empty, *samples.to_batches(max_chunksize=most)]).read_all()
            check_last_run(renderer, divergent)
    return want


def has_tokens(config: dict[str, Any]) -> bool:
    """True if a token may give way to nothing: what stands around it in the template can be a placeholder."""
    template = config.get("prompt_template") or config["ice_template"]
    return isinstance(template, dict) and bool({"ice_token", "sep_token"} & template.keys())


def may_overlap(columns: set[str | None]) -> bool:
    """True if placeholders can overlap: which of them is filled then goes by the rule, whatever their values are."""
    return any("{" in name or "}" in name for name in columns if name)


def chunked(samples: pa.Table, ends: list[int]) -> pa.Table:
    """The same rows, cut into chunks at `ends`."""
    bounds = sorted({0, len(samples), *(end for end in ends if end < len(samples))})
    parts = [samples.slice(start, end - start) for start, end in pairwise(bounds)]
    return pa.concat_tables(parts) if parts else samples


# ---------------------------------------------------------------------------------------------------------------------
# By hand.

SHOT = {"type": "PromptTemplate", "template": "{q}={a};"}
STRIPS = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>", "sep_token": "<SEP>"}
FIRST = {"type": "FixKRetriever", "fix_id_list": [0]}
READER = {"input_columns": ["q"], "output_column": "a"}

FEW_SHOT: dict[str, Any] = {"prompt_template": STRIPS, "ice_template": SHOT, "retriever": FIRST, "reader": READER}


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        ("x<SEP>y", ["q"]),  # taken out of a value
        ("{q<SEP>}", ["q"]),  # and what is left is a placeholder
        ("<SE", ["q", "a"]),  # made of two values and what stands between them
        ("plain", None),
    ],
)
@pytest.mark.parametrize("retriever", [FIRST, {"type": "RandomRetriever", "ice_num": 1}])
def test_a_separator_token_in_an_examples_value(
    value: str, columns: list[str] | None, retriever: dict[str, Any]
) -> None:
    ice = {**SHOT, "template": "{q}{a}"} if value == "<SE" else SHOT
    config = {**FEW_SHOT, "retriever": retriever, "ice_template": ice}
    examples = pa.table({"q": [value], "a": ["P>"]})
    samples = pa.table({"q": ["1", "2"], "a": ["", ""]})
    want = [] if columns is None else [0, 1]
    assert check(config, samples, examples) == want
    divergence = pp.Renderer(**config, examples=examples).divergence(samples).to_pylist()
    assert divergence == [{"row": row, "columns": columns} for row in want]


@pytest.mark.parametrize(
    ("template", "values", "columns"),
    [
        ("{a{q}}", {"q": "", "a": "x"}, ["q"]),  # the value has no bytes, and the braces around it close
        ("{{q}a}", {"q": "", "a": "x"}, ["q"]),
        ("{{q}z{q}}", {"q": "", "z": "x"}, ["q"]),
        ("{{q}{z}a}", {"q": "", "z": "", "a": "x"}, ["q", "z"]),
        ("{q}{a}{q}", {"q": "", "a": "x"}, None),  # right before and after a placeholder it does nothing
        ("{a{q}} {q}", {"q": "b", "a": "x"}, None),
    ],
)
def test_a_value_without_bytes_completes_a_placeholder(
    template: str, values: dict[str, str], columns: list[str] | None
) -> None:
    samples = pa.table({name: [value] for name, value in values.items()})
    want = [] if columns is None else [0]
    for settings_of_mode in ({}, {"mode": "ppl", "labels": ["A", "B"]}):
        config = {"prompt_template": template, "reader": {"input_columns": ["q"]}, **settings_of_mode}
        assert check(config, samples) == want
        divergence = pp.Renderer(**config).divergence(samples).to_pylist()
        assert divergence == [{"row": row, "columns": columns} for row in want]


def test_a_value_without_bytes_in_an_example_completes_a_placeholder_of_the_sample() -> None:
    samples = pa.table({"q": ["new"], "a": ["gold"], "z": ["of the sample"]})
    examples = pa.table({"q": ["old"], "a": ["1"], "e": [""]})
    config = {**FEW_SHOT, "ice_template": {"type": "PromptTemplate", "template": "{z{e}} {q}"}}
    assert check(config, samples, examples) == [0]
    assert pp.Renderer(**config, examples=examples).divergence(samples).to_pylist() == [{"row": 0, "columns": ["e"]}]


def test_a_separator_token_in_a_samples_value_stays() -> None:
    samples = pa.table({"q": ["x<SEP>", "</E>"], "a": ["", ""]})
    assert check({**FEW_SHOT, "retriever": None}, samples) == []
    assert check({**FEW_SHOT, "mode": "ppl", "labels": ["A"]}, samples, pa.table({"q": ["<SEP>"], "a": ["1"]})) == []


@pytest.mark.parametrize("template", ["{q<SEP>}", "{<SEP>q}", "{{q}<SEP>}"])
def test_a_separator_token_within_a_placeholder(template: str) -> None:
    samples = pa.table({"q": ["a", "1"], "a": ["gold", "gold"]})
    want = [0] if template.startswith("{{") else []
    config = {"prompt_template": {**STRIPS, "template": f"</E>{template}"}}
    assert pp.Renderer(**config).divergence(samples)["row"].to_pylist() == want
    assert check(config, samples) == (None if want else [])  # the braces come together where the token was


@pytest.mark.parametrize(
    ("template", "value", "differs"),
    [
        ("{{q}}", "a", True),
        ("{{{q}}}", "a", True),
        ("{{q}", "a}", True),
        ("{q}}", "{a", True),
        ("{{q}}", "b", False),
        ("{{q}}", " a ", False),
        ("{{z}}", "a", False),  # the column has had its turn
        ("\\frac{{q}}{{a}}", "2", False),
    ],
)
@pytest.mark.parametrize("output", ["text", "prompt_list", "messages"])
@pytest.mark.parametrize("mode", ["gen", "ppl"])
def test_braces_around_a_value(template: str, value: str, differs: bool, output: str, mode: str) -> None:
    samples = pa.table({"q": ["fine", value], "a": ["gold", "{q}"], "z": [value, value]})
    turns = {"round": [{"role": "HUMAN", "prompt": template}, {"role": "BOT", "prompt": "{"}]}
    for prompt in (template, turns, {"yes": "y" + template, "no": "n"}):
        config = {
            "prompt_template": prompt,
            "output": output,
            "mode": mode,
            "labels": ["yes"] if mode == "ppl" else None,
        }
        assert check(config, samples) == ([1] if differs else [])
        if output == "messages" and isinstance(prompt, dict):
            assert check({**config, "meta_template": META}, samples) == ([1] if differs else [])


@pytest.mark.parametrize(
    ("template", "mask", "differs"),
    [
        ("{a}", "{z}", True),
        ("{{a}}", "z", True),
        ("{a}z}", "{", True),
        ("{z{a}", "}", True),
        ("{a}", "?", False),
        ("{a}", "{q}", False),  # the column has had its turn
        ("{a}", "{a}", False),
        ("{{a}}", "q", False),
    ],
)
def test_the_mask_brings_in_placeholders(template: str, mask: str, differs: bool) -> None:
    samples = pa.table({"q": ["1", "2"], "a": ["x", "y"], "z": ["gold", "gold"]})
    config = {"prompt_template": template, "reader": READER, "inferencer": {"gen_field_replace_token": mask}}
    assert check(config, samples) == ([0, 1] if differs else [])
    if differs:
        assert pp.Renderer(**config).divergence(samples)["columns"].to_pylist() == [["a"], ["a"]]


BARE = {"ice_separator": "", "ice_eos_token": ""}
SHOTS = {"type": "IndexColumn", "column": "shots", **BARE}


@pytest.mark.parametrize(
    ("template", "ice", "retriever", "shots", "want"),
    [
        # Drawn for the third row, in a batch of its own.
        ("</E>", "{q}", {"type": "RandomRetriever", "ice_num": 1}, [], [(2, ["q"])]),
        # Only without an example do the braces close around the name.
        ("{</E>a}", "x", SHOTS, [[0], [], [1]], [(1, [])]),
        ("{</E>a}", "x", {"type": "RandomRetriever", "ice_num": 0, **BARE}, [], [(0, []), (1, []), (2, [])]),
        # Only so many examples are the name.
        ("{</E>}", "z", SHOTS, [[0, 0], [0], [1]], [(1, []), (2, [])]),
        ("{</E>}", {"A": "x", "B": "z"}, SHOTS, [[0], [0, 1], [1]], [(2, [])]),
        ("{</E>a}", {"A": "x", "B": ""}, SHOTS, [[0], [1], [0, 1]], [(1, [])]),
    ],
)
def test_rows_differ_by_their_examples(
    template: str, ice: Any, retriever: dict[str, Any], shots: list[list[int]], want: list[tuple[int, list[str]]]
) -> None:
    """Rows differ by the examples that are chosen for them, in whatever batch they come."""
    samples = pa.table({"q": ["1"] * 3, "a": ["A"] * 3, "z": ["2"] * 3})
    if shots:
        samples = samples.append_column("shots", pa.array(shots, pa.list_(pa.int64())))
    examples = pa.table({"q": ["{q}", ""], "a": ["A", "B"], "z": ["", ""]})
    config = {
        "prompt_template": {"type": "PromptTemplate", "template": template, "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": ice},
        "retriever": retriever,
        "reader": READER,
    }
    assert check(config, samples, examples) == [row for row, _ in want]
    divergence = pp.Renderer(**config, examples=examples).divergence(samples).to_pylist()
    assert divergence == [{"row": row, "columns": columns} for row, columns in want]


def test_labels_and_bodies_are_compared_one_by_one() -> None:
    samples = pa.table({"q": ["{a}", "1", "{z}"], "a": ["x", "y", "w"], "z": ["{z}", "z", "z"]})
    config: dict[str, Any] = {"prompt_template": {"one": "1", "two": "{q}", "three": "3"}, "mode": "ppl"}
    assert check(config, samples) == [0, 2]
    assert check({**config, "mode": "gen"}, samples) == []
    assert check({**config, "labels": ["one", "three"]}, samples) == []
    many = {"prompt_template": "{q}", "mode": "ppl", "reader": READER}
    assert check(many, samples) == [0, 2]


def test_rows_of_many_slices_and_chunks() -> None:
    rows = 50_000
    odd = {0, 8_191, 8_192, 30_000, 49_999}
    samples = pa.table({"q": ["{a}" if row in odd else str(row) for row in range(rows)], "a": ["x"] * rows})
    for way in ("harness", "single_pass"):
        renderer = pp.Renderer("{q} {a}", substitution=way)
        for given_table in (samples, chunked(samples, [1, 8_192, 30_000, 30_001])):
            assert renderer.divergence(given_table)["row"].to_pylist() == sorted(odd)
    labels = pp.Renderer("{q}", mode="ppl", labels=[str(n) for n in range(100)])
    assert labels.divergence(samples.slice(0, 9_000))["row"].to_pylist() == [0, 8_191, 8_192]


@pytest.mark.parametrize("output", ["messages_json", "messages"])
def test_a_row_that_one_way_alone_can_render_differs(output: str) -> None:
    """AISBench gives an empty request as a list, for which texts have no place."""
    samples = pa.table({"q": ["1", "{a}", "2"], "a": ["", "", ""], "z": ["z", "z", "z"]})
    turns = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    config = {"prompt_template": turns, "output": output, "dialect": "aisbench", "mode": "ppl", "labels": ["A"]}
    renderer = pp.Renderer(**config, substitution="single_pass")
    renderer.render(samples)
    assert renderer.divergence(samples)["row"].to_pylist() == [1]


# ---------------------------------------------------------------------------------------------------------------------
# At random.


@settings(QUICK, max_examples=part_of(400))
@given(cases())
def test_it_is_what_two_renders_say(case: Case) -> None:
    config = {key: value for key, value in case.config.items() if key != "substitution"}
    assume(check(config, case.samples, case.train) is not None)


@settings(QUICK, max_examples=part_of(100))
@given(media_cases(content=False))
def test_it_is_what_two_renders_of_media_say(case: Case) -> None:
    assume(check(case.config, case.samples) is not None)


# ---------------------------------------------------------------------------------------------------------------------
# Of sizes at which a look at every stretch for every placeholder would not end.


@pytest.mark.parametrize("value", ["{a}", "{a}<SEP>", "{z}{a<SEP>}"])
@pytest.mark.parametrize("retriever", [FIRST, {"type": "IndexColumn", "column": "shots"}])
def test_very_many_placeholders_in_a_value(value: str, retriever: dict[str, Any]) -> None:
    many = 100_000
    train = pa.table({"q": [value * many], "a": ["1"], "z": ["{a}"]})
    samples = train.append_column("shots", pa.array([[0]]))
    renderer = pp.Renderer(**{**FEW_SHOT, "retriever": retriever}, examples=train)
    (prompt,) = renderer.render(samples)["prompt"].to_pylist()
    assert renderer.explain(samples, 0)["end"].to_pylist()[-1] == len(prompt)
    assert renderer.divergence(samples).to_pylist()[0]["row"] == 0
