"""The harnesses' single-sample classes beside promptpress's: the same results, types and exceptions."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import promptpress.aisbench as ais
import promptpress.opencompass as oc
import promptpress.openicl as icl
import pytest
from generators.strategies import Case, cases, media_cases
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from parts import harness_chain

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
RANDOM = settings(max_examples=300, deadline=None, database=None, suppress_health_check=CHECKS)
PARSERS = {"text": "lm", "messages": "api", "prompt_list": "none"}
TEXTS = st.lists(
    st.sampled_from(["{question}", "{answer}", "{", "}", "</E>", "<SEP>", "é", "text", "\n"]), max_size=4
).map("".join)


@pytest.fixture(scope="session")
def opencompass_classes(opencompass: Any) -> SimpleNamespace:
    from opencompass.models.base import LMTemplateParser
    from opencompass.models.base_api import APITemplateParser
    from opencompass.openicl.icl_prompt_template import PromptTemplate
    from opencompass.openicl.icl_raw_prompt_template import RawPromptTemplate
    from opencompass.utils.prompt import PromptList

    assert opencompass
    return SimpleNamespace(**{harness_class.__name__: harness_class for harness_class in (
        LMTemplateParser, APITemplateParser, PromptTemplate, RawPromptTemplate, PromptList)})  # fmt: skip


@pytest.mark.parametrize(
    "messages",
    [
        7,
        None,
        {"role": "user"},
        [7],
        [("role", "user")],
        [{}],
        [{"content": "a"}],
        ["a", {"role": "user"}],
        [{"role": "tool", "content": "a"}],
        [{"role": None, "content": "a"}],
    ],
)
def test_faults_of_raw_messages_have_the_harness_words(opencompass_classes: SimpleNamespace, messages: Any) -> None:
    """People match these messages. A remedy may follow."""
    with pytest.raises((TypeError, ValueError)) as wanted:
        opencompass_classes.RawPromptTemplate(messages)
    with pytest.raises(type(wanted.value)) as got:
        oc.RawPromptTemplate(messages)
    assert str(got.value).startswith(str(wanted.value))


@pytest.fixture(scope="session")
def aisbench_classes(aisbench: Any) -> SimpleNamespace:
    from ais_bench.benchmark.models.api_models.base_api import APITemplateParser
    from ais_bench.benchmark.models.local_models.base import LMTemplateParser
    from ais_bench.benchmark.openicl.icl_prompt_template import (
        MMPromptTemplate,
        MultiTurnPromptTemplate,
        PromptTemplate,
    )
    from ais_bench.benchmark.utils.prompt import PromptList, get_round_index

    assert aisbench
    return SimpleNamespace(**{harness_class.__name__: harness_class for harness_class in (
        LMTemplateParser, APITemplateParser, PromptTemplate, MultiTurnPromptTemplate, MMPromptTemplate, PromptList,
        get_round_index)})  # fmt: skip


def case_of(drawn: Case) -> tuple[dict[str, Any], SimpleNamespace]:
    """Return the arguments of a renderer in the form of a harness, and its rows."""
    config, samples = drawn.config, drawn.samples.to_pylist()
    retriever = dict(config["retriever"])
    column = retriever.pop("column", None)
    if column is not None:
        retriever["given_indices"] = [row.pop(column) for row in samples]
    labels = {"labels": config["labels"]} if "labels" in config else {}
    case = {
        "prompt_template": config.get("prompt_template"),
        "ice_template": config.get("ice_template"),
        "retriever": retriever,
        "reader": config["reader"],
        "inferencer": {**config["inferencer"], **labels},
        "parser": PARSERS[config["output"].removesuffix("_json")],
        "meta_template": config.get("meta_template"),
        "mode": "ppl" if config["inferencer"]["type"] == "PPLInferencer" else "gen",
        # A harness takes them from a set, in an order that differs from process to process.
        "labels": sorted({str(row.get(config["reader"]["output_column"])) for row in samples}),
    }
    return case, SimpleNamespace(test=samples, train=drawn.train.to_pylist())


def outcome(case: dict[str, Any], classes: Any, data: SimpleNamespace) -> tuple[Any, ...]:
    """All that can be seen of a case: each stage's results with their types, and what was raised where."""
    out = harness_chain.run(copy.deepcopy(case), classes, copy.deepcopy(data))
    raised = None if out.raised is None else (out.stage, harness_chain.name_of(out.raised))
    return raised, typed(out.intermediate), typed(out.expect), typed(out.requests)


def typed(value: Any) -> Any:
    """The same in plain containers, with the name of every list's and string's type."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    return (type(value).__name__, [typed(item) for item in value]) if isinstance(value, (list, tuple)) else value


@RANDOM
@given(cases())
def test_opencompass(opencompass_classes: SimpleNamespace, drawn: Case) -> None:
    case, data = case_of(drawn)
    assert outcome(case, oc, data) == outcome(case, opencompass_classes, data)


@RANDOM
@given(cases())
def test_aisbench(aisbench_classes: SimpleNamespace, drawn: Case) -> None:
    parts = [drawn.config.get(name) or {} for name in ("prompt_template", "ice_template")]
    assume(not any(part.get("type") == "RawPromptTemplate" for part in parts))
    case, data = case_of(drawn)
    assert outcome(case, ais, data) == outcome(case, aisbench_classes, data)


@RANDOM
@given(media_cases(content=True))
def test_aisbench_media(aisbench_classes: SimpleNamespace, drawn: Case) -> None:
    config = {**drawn.config, "retriever": {"type": "ZeroRetriever"}}
    case, data = case_of(Case(config, drawn.samples, drawn.samples.slice(0, 0)))
    assert outcome(case, ais, data) == outcome(case, aisbench_classes, data)


@RANDOM
@given(
    texts=st.lists(TEXTS, min_size=2, max_size=2),
    talk=st.lists(st.tuples(TEXTS, TEXTS), max_size=3),
    mode=st.sampled_from(["last", "every", "every_with_gt", "none such"]),
    output=st.sampled_from(["text", "messages"]),
)
def test_aisbench_conversations(
    aisbench_classes: SimpleNamespace, texts: list[str], talk: list[tuple[str, str]], mode: str, output: str
) -> None:
    assume(talk or mode != "last")  # the harness recurses for ever
    turns = [{"role": role, "prompt": text} for role, text in zip(("HUMAN", "BOT"), texts, strict=True)]
    roles = [{"role": "HUMAN", "begin": "<u>", "api_role": "HUMAN"},
             {"role": "BOT", "begin": "<b>", "api_role": "BOT", "generate": True}]  # fmt: skip
    case = {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": {"round": turns}},
        "ice_template": None,
        "retriever": {"type": "ZeroRetriever"},
        "reader": {"input_columns": ["question"], "output_column": "answer"},
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": mode},
        "parser": PARSERS[output],
        "meta_template": {"round": roles},
        "mode": "gen",
        "labels": None,
    }
    row = {"question": [question for question, _ in talk], "answer": [answer for _, answer in talk]}
    data = SimpleNamespace(test=[row], train=[])
    assert outcome(case, ais, data) == outcome(case, aisbench_classes, data)


@st.composite
def openicl_cases(draw: st.DrawFn) -> tuple[dict[str, Any], str, list[dict[str, Any]], dict[str, Any]]:
    """Arguments of a template, mostly valid, one of its methods, rows, and that method's arguments."""
    odd = draw(st.integers(0, 5)) == 0
    pieces = st.lists(st.sampled_from(["</Q>", "</A>", "<SEP>", "text", "", "\n"]), max_size=5).map("".join)
    whole = st.tuples(pieces, st.sampled_from(["</E>", ""] if odd else ["</E>"]), pieces).map("".join)
    maps = st.fixed_dictionaries(dict.fromkeys(["A", "B", 0, None, 1, 2, "x </A>"], whole))
    body = st.one_of(whole, maps, *([st.dictionaries(st.sampled_from(["A", 0]), whole)] if odd else []))
    made: dict[str, Any] = {"template": draw(body), "column_token_map": {"question": "</Q>", "answer": "</A>"}}
    if odd:
        names = st.sampled_from(["question", "answer", "</Q>", "missing"])
        made["column_token_map"] = draw(st.dictionaries(names, st.sampled_from(["</Q>", "</A>", "</E>"]), max_size=3))
    if draw(st.integers(0, 2)) == 0:
        made["selected_column_name"] = draw(st.sampled_from(["question", "answer"]))
        keys = st.sampled_from(["A", "B"]) if odd else st.just("A")
        made["selected_column_map"] = {
            **dict.fromkeys([] if odd else ["B", "x </A>", 0, 1, 2, None], draw(pieces)),
            **draw(st.dictionaries(keys, pieces, max_size=2)),
        }
    for token, value in (("ice_token", "</E>"), ("sep_token", "<SEP>")):
        if draw(st.booleans()):
            made[token] = value
    values = st.one_of(st.sampled_from(["A", "B", "x </A>"]), st.integers(0, 2), st.none())
    rows = draw(st.lists(st.fixed_dictionaries({"question": values, "answer": values}), min_size=1, max_size=2))
    method = draw(st.sampled_from(["generate_ice_item", "generate_label_prompt_item", "generate_item"]))
    label, shots = draw(st.sampled_from(["A", "B", 0, *(["none such"] if odd else [])])), draw(pieces)
    arguments = {
        "generate_ice_item": {"label": label},
        "generate_label_prompt_item": {"ice": shots, "label": label, "remain_sep": draw(st.booleans())},
        "generate_item": {
            "output_field": draw(st.sampled_from([None, "answer", "missing"])),
            "output_field_replace_token": draw(st.sampled_from(["", "</Q>", "?"])),
            "ice_field_replace_token": shots,
        },
    }
    return made, method, rows, arguments[method]


@RANDOM
@given(openicl_cases())
def test_openicl(openicl: Any, drawn: tuple[dict[str, Any], str, list[dict[str, Any]], dict[str, Any]]) -> None:
    def results_of(template_class: Any) -> list[tuple[str, Any]]:
        made, method, rows, arguments = copy.deepcopy(drawn)
        seen: list[tuple[str, Any]] = []
        try:
            template = template_class(**made)
            for row in rows:
                seen.append(("gives", getattr(template, method)(row, **arguments)))
        except Exception as error:
            seen.append(("raises", type(error).__name__))
        return seen

    assert results_of(icl.PromptTemplate) == results_of(openicl.PromptTemplate)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "text",
        [],
        [{"role": "user", "content": "OpenAI's already"}],
        [{"role": "user", "prompt": "OpenAI's role"}, {"role": "HUMAN", "prompt": "x"}],
        [{"role": "TEACHER", "prompt": "x"}],
        [{"section": "round", "pos": "begin"}, {"role": "HUMAN", "prompt": "x"}, "y", "a section"],
        ["", {"role": "HUMAN", "prompt": "x"}],
        [{"prompt": "no role"}],
        [{"role": "BOT"}],
        [3],
        {"round": [{"role": "HUMAN", "prompt": "x"}]},
        None,
        3,
    ],
)
def test_promptlist_to_openai_gives_what_the_harness_s_gives(opencompass: Any, prompt: Any) -> None:
    """Nothing at all, in silence, for messages of roles that it doesn't know."""
    assert opencompass
    from opencompass.openicl.icl_inferencer.icl_chat_inferencer import promptlist_to_openai

    answers = []
    for function in (promptlist_to_openai, oc.promptlist_to_openai):
        try:
            answers.append(function(copy.deepcopy(prompt)))
        except Exception as error:
            answers.append((type(error), str(error)))
    assert answers[0] == answers[1]
