"""`output="messages_json"`: what it writes, and what only it can hold."""

from __future__ import annotations

import json
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from comparing import clean
from generators.few_shots import RAW, SAMPLES, texts
from test_layouts import CONFIGS, META, TURNS, train

JSONS: dict[str, dict[str, Any]] = {
    "raw": {"prompt_template": [{"content": "{q}", "role": "user", "name": "n"}, *RAW]},
    "meta": {"prompt_template": {"round": TURNS}, "meta_template": META},
    "five-shot": {**CONFIGS["five-shot messages"], "examples": train()},
    "list meta": {
        "prompt_template": RAW,
        "meta_template": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
    },
}


@pytest.mark.parametrize("name", JSONS)
def test_json_says_what_the_messages_say(name: str) -> None:
    samples = pa.table({"q": ['a"b\\\n\t\x00\x1f\u2028é😀', "{a}"], "hint": ["x", None], "a": ["1", "2"]})
    config = {**JSONS[name], "reader": {}} if name != "five-shot" else JSONS[name]
    messages = pp.Renderer(**{**config, "output": "messages"}).render(samples)
    table = pp.Renderer(**{**config, "output": "messages_json"}).render(samples)
    assert table.schema.field("prompt").type == pa.string()
    assert clean([json.loads(text) for text in texts(table)]) == clean(texts(messages))
    assert [json.dumps(json.loads(text), ensure_ascii=False) for text in texts(table)] == texts(table)


def test_json_keeps_the_order_of_keys() -> None:
    message = {"name": "n", "content": "{q}", "x": {"b": 1, "a": [None, True, 1.5]}, "role": "user"}
    (text,) = texts(pp.Renderer([message], output="messages_json").render(SAMPLES.slice(0, 1)))
    assert text == json.dumps([{**message, "content": "1+1?"}])


@pytest.mark.parametrize("number", [1e22, 1e-7, 1e16, 0.1, -0.0, 1.0, 5e-324, float("inf"), 2**53, 2**63, -(2**70)])
def test_json_writes_numbers_as_python_does(number: float) -> None:
    message = {"role": "user", "content": "{q}", "n": number}
    (text,) = texts(pp.Renderer([message], output="messages_json").render(SAMPLES.slice(0, 1)))
    assert text == json.dumps([{**message, "content": "1+1?"}])


MIXES: dict[str, Any] = {
    "content": [{"role": "user", "content": "{q}"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}],
    "a field": [{"role": "user", "content": "{q}", "n": 1}, {"role": "user", "content": "{q}", "n": "one"}],
    "within a list": [{"role": "user", "content": "{q}", "n": [1, "one"]}],
    "a number": [{"role": "user", "content": "{q}", "n": 2**70}],
}


@pytest.mark.parametrize("name", MIXES)
def test_what_arrow_cant_hold_is_json(name: str) -> None:
    renderer = pp.Renderer(MIXES[name], output="messages")
    for call in (renderer.render, renderer, lambda given: renderer.stream(given).read_all()):
        with pytest.raises((pp.RenderError, pp.TemplateError), match="messages_json") as raised:
            call(SAMPLES)
        assert "row" in str(raised.value)
    (text, *_) = texts(pp.Renderer(MIXES[name], output="messages_json").render(SAMPLES))
    want = [{**m, "content": "1+1?"} if isinstance(m["content"], str) else m for m in MIXES[name]]
    assert json.loads(text) == want
