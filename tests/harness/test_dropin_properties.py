"""The single-sample classes against plain Python, and against the renderer's model with `documented=True`."""

from __future__ import annotations

import copy
import operator
from types import SimpleNamespace
from typing import Any

import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest
from amounts import part_of
from generators.strategies import Case, cases, media_cases
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models import media_model
from models.plain_model import ModelError, read_model, render
from parts import harness_chain

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
QUICK = settings(max_examples=part_of(300), deadline=None, database=None, suppress_health_check=CHECKS)
UNSPOKEN = pytest.mark.filterwarnings("ignore:A string without a role")
HARNESSES = pytest.mark.parametrize("harness", [oc, ais], ids=["opencompass", "aisbench"])

TEXTS = st.lists(
    st.sampled_from(["{q}", "{a}", "{", "}", "{{q}}", "</E>", "é", "😀", "\ud800", "text"]), max_size=5
).map("".join)
NAMES = st.sampled_from(["q", "a", "", "q}{a", "é", "{q}"])
VALUES = st.one_of(
    TEXTS, st.integers(), st.floats(), st.none(), st.booleans(), st.lists(TEXTS, max_size=2), st.binary()
)
TURNS = st.fixed_dictionaries({"role": st.sampled_from(["HUMAN", "BOT"])}, optional={"prompt": TEXTS, "extra": VALUES})
ITEMS = st.lists(st.one_of(TEXTS, TURNS), max_size=4)


def replaced(text: str, fields: dict[str, Any]) -> str:
    for name, value in fields.items():
        text = text.replace("{" + name + "}", str(value))
    return text


@QUICK
@given(TEXTS, st.dictionaries(NAMES, VALUES))
def test_filling_is_replacing_one_after_the_other(text: str, fields: dict[str, Any]) -> None:
    assert oc.safe_format(text, **fields) == replaced(text, fields)


@HARNESSES
@QUICK
@given(items=ITEMS, more=ITEMS, text=TEXTS)
def test_operators_are_those_of_lists(harness: Any, items: list[Any], more: list[Any], text: str) -> None:
    made = harness.PromptList(items)
    strings = [text] if text else []
    sums = [
        (made + harness.PromptList(more), items + more),
        (made + more, items + more),
        (made + text, items + strings),
        (text + made, strings + items),
        (operator.add([], made), items),
    ]
    for total, wanted in sums:
        assert type(total) is harness.PromptList
        assert list(total) == wanted
        assert all(
            item is wanted_item
            for item, wanted_item in zip(total, wanted, strict=True)
            if isinstance(wanted_item, dict)
        )
    grown = made
    grown += more
    grown += text
    assert grown is made
    assert list(made) == items + more + strings
    plain: Any = list(more)
    plain += harness.PromptList(items)[:]
    assert plain == more + items


@HARNESSES
@QUICK
@given(items=ITEMS, fields=st.dictionaries(NAMES, VALUES))
def test_formatting_fills_the_given_fields_and_copies_the_rest(harness: Any, items: list[Any], fields: Any) -> None:
    before = copy.deepcopy(items)
    made = harness.PromptList(items)
    formatted = made.format(**fields)
    assert type(formatted) is harness.PromptList
    assert len(formatted) == len(items)
    for formatted_item, item in zip(formatted, items, strict=True):
        if isinstance(item, str):
            assert formatted_item == replaced(item, fields)
        else:
            wanted = {key: replaced(value, fields) if key == "prompt" else value for key, value in item.items()}
            assert repr(formatted_item) == repr(wanted)
            assert formatted_item is not item
            assert not isinstance(item.get("extra"), list) or formatted_item["extra"] is not item["extra"]
    assert repr(items) == repr(before)


@HARNESSES
@QUICK
@given(items=ITEMS, shots=ITEMS, text=TEXTS)
def test_replacing_splices_lists_and_joins_strings(harness: Any, items: list[Any], shots: Any, text: str) -> None:
    made = harness.PromptList(items)
    token = "</E>"
    joined = made.replace(token, text)
    assert [item if isinstance(item, str) else item.get("prompt") for item in joined] == [
        (item if isinstance(item, str) else item["prompt"]).replace(token, text)
        if isinstance(item, str) or "prompt" in item
        else None
        for item in items
    ]
    if any(isinstance(item, dict) and token in item.get("prompt", "") for item in items):
        with pytest.raises((TypeError, ais.AISBenchTypeError)):
            made.replace(token, harness.PromptList(shots))
        return
    wanted: list[Any] = []
    for item in items:
        if isinstance(item, str):
            for n, piece in enumerate(item.split(token)):
                wanted += (shots if n else []) + ([piece] if piece else [])
        else:
            wanted.append(item)
    assert repr(list(made.replace(token, harness.PromptList(shots)))) == repr(wanted)
    # Raw messages, which are a plain list, delete the strings.
    assert repr(list(made.replace(token, shots))) == repr([item for item in items if isinstance(item, dict)])


def template_of(config: Any) -> dict[str, Any] | None:
    """A template with its class, as the harness builds it."""
    if isinstance(config, list):
        return {"type": "RawPromptTemplate", "messages": config}
    if config is None or (isinstance(config, dict) and "type" in config):
        return config
    return {"type": "PromptTemplate", "template": config}


@UNWARNED
@UNSPOKEN
@settings(QUICK, max_examples=part_of(600))
@given(cases())
def test_documented_classes_give_what_the_renderer_gives(drawn: Case) -> None:
    assume("self" not in drawn.samples.column_names)  # no class's method takes a field of this name
    config = {**drawn.config, "substitution": "harness", "output": drawn.config["output"].removesuffix("_json")}
    samples, train = drawn.samples.to_pylist(), drawn.train.to_pylist()
    try:
        wanted = render(config, samples, train)
    except ModelError as error:
        note(f"refused: {error}")
        return
    model = read_model(config)
    retriever = dict(config["retriever"])
    column = retriever.pop("column", None)
    if column is not None:
        retriever["given_indices"] = [row.pop(column) for row in samples]
    case = {
        "prompt_template": template_of(config.get("prompt_template")),
        "ice_template": template_of(config.get("ice_template")),
        "retriever": retriever,
        "reader": config["reader"],
        "inferencer": {**config["inferencer"], **({"labels": config["labels"]} if "labels" in config else {})},
        "parser": {"text": "lm", "messages": "api", "prompt_list": "none"}[model.output],
        "meta_template": config.get("meta_template"),
        "mode": model.mode,
        "labels": model.labels_of(samples) if model.mode == "ppl" else None,
    }
    # Under ZeroRetriever an ICE template alone, without ice token, is a prompt template as documented.
    alone = case["prompt_template"] is None and model.main.ice_token is None
    if alone:
        case["prompt_template"], case["ice_template"] = case["ice_template"], None
    data = SimpleNamespace(test=samples, train=train)
    out = harness_chain.run(case, with_tokens(config.get("tokens")), data, documented=True)
    if out.raised is not None:
        raise out.raised
    parsed = out.intermediate if case["parser"] == "none" else out.expect
    flat = [request for row in parsed for request in row] if model.mode == "ppl" else parsed
    if case["parser"] == "none":
        flat = [
            [item for item in request if not is_marker(item)] if isinstance(request, list) else request
            for request in flat
        ]
    assert flat == wanted


def is_marker(item: Any) -> bool:
    return isinstance(item, dict) and set(item) == {"section", "pos"}


def with_tokens(tokens: Any) -> Any:
    """The classes of OpenCompass, whose parsers know these tokens."""
    names = {name: getattr(oc, name) for name in ("PromptTemplate", "RawPromptTemplate", "PromptList")}
    for name in ("LMTemplateParser", "APITemplateParser"):
        made = getattr(oc, name)
        names[name] = lambda meta, made=made, **options: made(meta, tokens=tokens, **options)
    return SimpleNamespace(**names)


@UNWARNED
@UNSPOKEN
@pytest.mark.parametrize("content", [True, False], ids=["content", "documented"])
@settings(QUICK, max_examples=part_of(600))
@given(data=st.data())
def test_media_give_what_the_renderer_gives(content: bool, data: st.DataObject) -> None:
    drawn = data.draw(media_cases(content=content))
    config = drawn.config
    template = ais.MMPromptTemplate(
        **{k: v for k, v in config["prompt_template"].items() if k != "type"}, documented=True
    )
    parser = {"messages": ais.APITemplateParser, "text": ais.LMTemplateParser}.get(config["output"])
    for sample in drawn.samples.to_pylist():
        try:
            wanted = media_model.request(config, sample)
        except media_model.RefusedError as error:
            note(f"refused: {error}")
            continue
        parsed = template.generate_item(sample, output_field="note", output_field_replace_token="never seen")
        if parser is not None:
            parsed = parser(config.get("meta_template"), documented=True).parse_template(parsed, mode="gen")
        else:
            parsed = [item for item in parsed if not is_marker(item)]
        # In the harness parts stand under `prompt`; Arrow needs a key of their own.
        assert [in_arrow(part) for part in parsed] == [in_arrow(part) for part in wanted]


def in_arrow(message: Any) -> Any:
    if isinstance(message, dict) and "parts" in message:
        return {("prompt" if key == "parts" else key): value for key, value in message.items()}
    return message
