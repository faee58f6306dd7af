"""The renderer against the plain model: random configurations, random samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from comparing import with_kept_braces
from fuzz import oracle, properties
from fuzz.draw import Draw
from fuzz.values import rows_of
from generators.strategies import Case, HypothesisDraw, cases
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models.plain_model import DIALECTS, read_model, render

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
QUICK = settings(max_examples=part_of(400), deadline=None, database=None, suppress_health_check=CHECKS)


def model_of(case: Case) -> list[Any] | None:
    """The model's requests; None where it refuses."""
    try:
        return oracle.wanted(case)
    except oracle.Refused as error:
        note(f"the model refuses: {error}")
        # Of tokens that no prompt shows, and of None among labels, it has nothing to say.
        assume(not isinstance(error, oracle.Silent) and not str(error).startswith("a token has no text"))
        return None


def rendered_by(case: Case) -> tuple[pp.Renderer, pa.Table]:
    """A case's renderer and prompts; hypothesis draws another case where it is refused."""
    try:
        return oracle.rendered(case)
    except (pp.TemplateError, pp.RenderError) as error:
        note(f"the renderer refuses: {error}")
        assume(False)
        raise


def is_list_among_texts(case: Case) -> bool:
    """Return true if a request is a list in a column of texts, which refuses it if a row has several requests.

    AISBench's API parser gives an empty list for a dialogue that says nothing and meets no meta template.
    """
    if case.config.get("dialect") != "aisbench" or case.config["output"] not in ("messages", "messages_json"):
        return False
    want = model_of(case)
    if want is None or "" not in want:
        return False
    model = read_model({**case.config, "output": "messages"})
    bodies = model.main.template
    body = next(iter(bodies.values()), None) if model.main.is_label_map else bodies
    return model.meta is None and model.mode == "ppl" and isinstance(body, dict)


def check(case: Case, draw: Draw | None = None) -> None:
    if is_list_among_texts(case):
        with pytest.raises((pp.TemplateError, pp.RenderError)):
            oracle.rendered(case)
        return
    got = oracle.against(case, oracle.wanted, case.model)
    if got is None:
        return
    renderer, table = got
    if draw is not None:
        properties.check(draw, case, renderer, table)
    if model_of(case) is None:
        return  # and there is nothing to render: no labels, say
    model = read_model({**case.config, "output": case.config["output"].removesuffix("_json")})
    assert table.column_names == (["label", "prompt"] if model.mode == "ppl" else ["prompt"])
    if model.mode == "ppl":
        labels = model.labels_of(rows_of(case.samples)) * case.samples.num_rows
        assert [str(label) for label in table["label"].to_pylist()] == [str(label) for label in labels]


BRACES = {"q": "{a} {nothing}", "a": "{q}", "k": "{"}
WAYS = {
    "{q}|{a}|{{k}}|{q": {
        "harness": "{q} {nothing}|{q}|{{}|{q",
        "single_pass": "{a} {nothing}|{q}|{k}|{q",
    },
    "{{a}}": {"harness": "{{q}}", "single_pass": "{a}"},
    "{{{a}}}": {"harness": "{{{q}}}", "single_pass": "{{q}}"},
    "{{{{a}}}}|{{a}|{a}}": {"harness": "{{{{q}}}}|{{q}|{q}}", "single_pass": "{{a}}|{{q}|{q}}"},
    "{{x}}|{{a": {"harness": "{{x}}|{{a", "single_pass": "{{x}}|{{a"},
    "{k}q}": {"harness": "{q}", "single_pass": "{q}"},
}


@UNWARNED
@pytest.mark.parametrize("substitution", ["harness", "single_pass"])
@pytest.mark.parametrize("template", WAYS)
def test_both_ways_of_substituting(template: str, substitution: str) -> None:
    config = {"prompt_template": template, "substitution": substitution}
    want = [WAYS[template][substitution]]
    assert render(config, [BRACES], []) == want
    assert pp.Renderer(**config, unknown="keep").render(pa.Table.from_pylist([BRACES]))["prompt"].to_pylist() == want


@pytest.mark.parametrize("substitution", ["harness", "single_pass"])
def test_examples_and_the_mask_in_both_ways(substitution: str) -> None:
    config = {
        "ice_template": {"type": "PromptTemplate", "template": "{q}={a}"},
        "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}={a}", "ice_token": "</E>"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1], "ice_separator": ";{q};"},
        "reader": {"input_columns": ["q"], "output_column": "a"},
        "inferencer": {"type": "GenInferencer", "gen_field_replace_token": "{q}"},
        "substitution": substitution,
    }
    train = [{"q": "{a}", "a": "1"}, {"q": "two", "a": "{q}"}]
    want = {"harness": ["1=1;{};two={}\n{}={q}"], "single_pass": ["{a}=1;{};two={q}\n{}={q}"]}[substitution]
    assert render(config, [{"q": "{}", "a": "gold"}], train) == want
    renderer = pp.Renderer(**config, examples=pa.Table.from_pylist(train))
    assert renderer.render(pa.Table.from_pylist([{"q": "{}", "a": "gold"}]))["prompt"].to_pylist() == want


@UNWARNED
@QUICK
@given(cases(), st.data())
def test_random_cases(case: Case, data: st.DataObject) -> None:
    check(case, HypothesisDraw(data.draw))


@UNWARNED
@settings(QUICK, max_examples=part_of(150))
@given(cases(), st.sampled_from(DIALECTS))
def test_random_cases_of_every_dialect_that_the_model_knows(case: Case, dialect: str) -> None:
    case.config["dialect"] = dialect
    check(case)


@UNWARNED
@settings(QUICK, max_examples=part_of(150))
@given(cases())
def test_rows_in_which_the_ways_of_substituting_differ_are_named(case: Case) -> None:
    both: list[Any] = []
    plain = with_kept_braces(case.config, case.samples, case.train)
    assume(plain is not None)
    assert plain is not None
    for config in (plain, {**case.config, "substitution": "harness"}):
        both.append(model_of(replace(case, config=config)))
    case.config["substitution"] = "harness"
    assume(None not in both)
    got = rendered_by(case)
    each = len(both[0]) // case.samples.num_rows
    differing = {n // each for n, (filled, copied) in enumerate(zip(*both, strict=True)) if filled != copied}
    named = set(got[0].divergence(case.samples)["row"].to_pylist())
    assert differing <= named
