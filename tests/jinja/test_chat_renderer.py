"""A chat template behind the messages of a harness's configuration."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED

pytest.importorskip("jinja2")

from promptpress import ChatTemplate, Renderer, RenderError, TemplateError, stats, to_pylist
from promptpress._engine.chat_stage import _conversation
from promptpress._engine.table_engine import engine_of

CHATML = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SAMPLES = pa.table({"q": ["1+1", "", "{x}"], "a": ["2", "", "x"], "id": [1, 2, 3]})
DIALOGUE = {
    "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Be kind."}],
    "round": [
        {"role": "HUMAN", "prompt": "{q}"},
        {"role": "BOT", "prompt": "{a}"},
        {"role": "HUMAN", "prompt": "And?"},
    ],
}


def expected(messages: list[Any]) -> str:
    turns = "".join(f"<{m['role']}>{m['content']}</>" for m in messages)
    return f"{turns}<assistant>"


@UNWARNED
@settings(max_examples=part_of(40))
@given(
    rows=st.lists(st.tuples(*[st.sampled_from(["", "x", " \n", "é</>"])] * 2), min_size=1, max_size=5),
    template=st.sampled_from(["{q}", "{a}?", DIALOGUE, {"round": [{"role": "BOT", "prompt": "{a}"}] * 2}]),
)
def test_messages_are_those_of_the_harness_and_then_the_template_s(rows: list[Any], template: Any) -> None:
    table = pa.table({"q": [q for q, _ in rows] * 2, "a": [a for _, a in rows] * 2})
    renderer = Renderer(template, chat_template=ChatTemplate(CHATML), reader={"output_column": None})
    plain = Renderer(template, output="messages", reader={"output_column": None}, meta_template=_meta(renderer))
    wanted = [_conversation(request).messages for request in to_pylist(plain.render(table)["prompt"])]
    if not all(wanted):
        with pytest.raises(RenderError, match="empty conversation") as caught:
            renderer.render(table)
        assert caught.value.row == wanted.index([])
        return
    assert renderer.render(table)["prompt"].to_pylist() == list(map(expected, wanted))


def _meta(renderer: Renderer) -> Any:
    return engine_of(renderer).configuration.settings["meta_template"]


@UNWARNED
def test_verbs() -> None:
    renderer = Renderer(
        DIALOGUE, chat_template=ChatTemplate(CHATML), reader={"output_column": None}, strings="large_string"
    )
    table = renderer.render(SAMPLES, keep=["id"], index="row")
    assert table["prompt"][0].as_py() == "<user>Be kind.\n1+1\n</><assistant>2</><user>And?\n</><assistant>"
    assert table.schema == renderer.output_schema(SAMPLES.schema, ["id"], index="row")
    assert table.schema.field("prompt").type == pa.large_string()
    stream = renderer.stream(SAMPLES.to_batches(max_chunksize=2), ["id"], index="row")
    assert stream.read_all().to_pylist() == table.to_pylist()
    assert renderer(SAMPLES.to_batches()[0])["prompt"].to_pylist() == table["prompt"].to_pylist()
    again = pickle.loads(pickle.dumps(renderer))
    assert again == renderer != Renderer(DIALOGUE, chat_template=ChatTemplate("x"), reader={"output_column": None})
    assert renderer != Renderer(DIALOGUE, reader={"output_column": None})
    assert again.render(SAMPLES)["prompt"].to_pylist() == table["prompt"].to_pylist()
    assert "chat_template=ChatTemplate(" in repr(renderer)


def test_examples_and_the_meta_template_of_a_model() -> None:
    meta = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
    shots = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
    renderer = Renderer(
        {"template": {"begin": "</E>", **shots}, "ice_token": "</E>"},
        shots,
        {"type": "FixKRetriever", "fix_id_list": [0]},
        pa.table({"q": ["2+2"], "a": ["4"]}),
        {"output_column": "a"},
        meta_template=meta,
        chat_template=ChatTemplate(CHATML),
    )
    text = renderer.render(SAMPLES.slice(0, 1))["prompt"][0].as_py()
    assert text == "<user>2+2</><assistant>4</><user>1+1</><assistant>"


def test_the_assistant_s_turn_is_opened_unless_one_is_continued() -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    source = "{{ messages[0].content }}{{ add_generation_prompt }}"
    samples = pa.table({"q": ["a"] * 3})
    for arguments, opened in (
        ({}, "True"),
        ({"add_generation_prompt": True}, "True"),
        ({"continue_final_message": True}, ""),
    ):
        renderer = Renderer(template, chat_template=ChatTemplate(source, **arguments))
        assert renderer.render(samples)["prompt"].to_pylist() == [f"a\n{opened}" if opened else "a\n"] * 3


@UNWARNED
def test_a_refused_message_names_its_sample() -> None:
    refusing = "{% if messages[0].content == 'x\n' %}{{ raise_exception('no x') }}{% endif %}{{ messages[0].content }}"
    renderer = Renderer({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, chat_template=ChatTemplate(refusing))
    samples = pa.table({"q": ["a", "b", "c", "x", "d"]})
    with pytest.raises(RenderError, match=r"^row 3: TemplateError: no x"):
        renderer.render(samples)
    with pytest.raises(RenderError, match=r"^row 3: TemplateError: no x"):
        renderer.stream(samples.to_batches(max_chunksize=2)).read_all()


def test_roles_that_the_harness_has_no_name_for() -> None:
    meta = {"round": [{"role": "HUMAN", "api_role": "CRITIC"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
    renderer = Renderer(
        {"round": [{"role": "HUMAN", "prompt": "{q}"}]}, meta_template=meta, chat_template=ChatTemplate(CHATML)
    )
    with pytest.raises(RenderError, match="row 0: KeyError: 'CRITIC'") as caught:
        renderer.render(pa.table({"q": ["a"]}))
    assert caught.value.code == "unmapped_role"


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"chat_template": "{{ x }}"}, "chat_template"),
        ({"output": "prompt_list"}, "output"),
        ({"mode": "ppl", "labels": ["A", "B"]}, "chat_template"),
    ],
)
def test_what_doesn_t_go_together(arguments: dict[str, Any], path: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Renderer("{q}", **{"chat_template": ChatTemplate(CHATML), **arguments})
    assert caught.value.path == path


@UNWARNED
def test_what_looks_at_messages_isn_t_there_for_texts() -> None:
    renderer = Renderer("{q}", chat_template=ChatTemplate(CHATML))
    with pytest.raises(TemplateError, match="isn't available") as caught:
        renderer.converse(SAMPLES)
    assert caught.value.path == "chat_template"


def test_statistics_are_those_of_the_texts() -> None:
    renderer = Renderer("{q}", chat_template=ChatTemplate(CHATML))
    statistics, expected = stats(renderer, SAMPLES), stats(renderer.render(SAMPLES))
    assert (statistics.requests, statistics.bytes.sum, statistics.by_origin) == (
        expected.requests,
        expected.bytes.sum,
        None,
    )
