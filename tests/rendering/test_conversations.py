"""Conversations: a row a turn, with the true answers or with the model's own replies."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

# Its first turn stays as it is, as in the harness.
pytestmark = UNWARNED

TEMPLATE = {
    "type": "MultiTurnPromptTemplate",
    "template": {
        "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Be kind. {question}"}],
        "round": [{"role": "HUMAN", "prompt": "Q:{question}"}, {"role": "BOT", "prompt": "{answer}"}],
    },
}
CHAT = {
    "round": [
        {"role": "HUMAN", "begin": "<h>", "end": "</h>"},
        {"role": "BOT", "begin": "<b>", "end": "</b>", "generate": True},
    ]
}
SAMPLES = pa.table(
    {"question": [["a", "b{answer}"], [], ["c"]], "answer": [["1", "2"], [], ["3", "unasked"]], "id": [7, 8, 9]}
)


def renderer(infer_mode: str, **more: Any) -> pp.Renderer:
    inferencer = {"type": "MultiTurnGenInferencer", "infer_mode": infer_mode}
    return pp.Renderer(TEMPLATE, inferencer=inferencer, dialect="aisbench", meta_template=CHAT, **more)


OPENING = "<h>Be kind. {question}</h>"


def test_every_turn_follows_the_true_answers() -> None:
    table = renderer("every_with_gt").render(SAMPLES, keep=["id"])
    assert table.schema == renderer("every_with_gt").output_schema(SAMPLES.schema, ["id"])
    assert table.to_pylist() == [
        {"id": 7, "turn": 0, "prompt": OPENING + "<h>Q:a</h><b>"},
        {"id": 7, "turn": 1, "prompt": OPENING + "<h>Q:a</h><b>1</b><h>Q:b2</h><b>"},
        {"id": 9, "turn": 0, "prompt": OPENING + "<h>Q:c</h><b>"},
    ]


def test_last_asks_once_a_conversation() -> None:
    table = renderer("last").render(SAMPLES, keep=["id"])
    assert list(zip(table["id"].to_pylist(), table["turn"].to_pylist(), strict=True)) == [(7, 1), (9, 0)]
    assert table["prompt"][0].as_py() == OPENING + "<h>Q:a</h><b>1</b><h>Q:b2</h><b>"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_batches_give_what_the_table_gives(size: int) -> None:
    every_turn = renderer("every_with_gt")
    whole = every_turn.render(SAMPLES, keep=["id"])
    assert (
        every_turn.stream(SAMPLES.to_batches(max_chunksize=size), keep=["id"]).read_all().equals(whole.combine_chunks())
    )
    calls = [every_turn(batch) for batch in SAMPLES.to_batches(max_chunksize=size)]
    assert [row for batch in calls for row in batch.column("prompt").to_pylist()] == whole["prompt"].to_pylist()


def test_replies_take_the_place_of_answers() -> None:
    talk = renderer("every").converse(SAMPLES)
    first = talk.requests
    assert first.select(["sample", "turn"]).to_pylist() == [{"sample": 0, "turn": 0}, {"sample": 2, "turn": 0}]
    second = talk.reply(pa.array(["{question}!", "unheard"]))
    assert second.to_pylist() == [
        {"sample": 0, "turn": 1, "prompt": OPENING + "<h>Q:a</h><b>{question}!</b><h>Q:b2</h><b>"}
    ]
    assert talk.reply(pa.array(["end"])).num_rows == 0


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        (pa.array(["one"]), "2 requests are waiting, but 1"),
        (pa.array(["one", None]), "None"),
        (pa.array([1, 2]), "a str is needed"),
    ],
)
def test_wrong_replies_leave_the_conversation_where_it_is(replies: pa.Array, words: str) -> None:
    talk = renderer("every").converse(SAMPLES)
    with pytest.raises(pp.RenderError, match=words):
        talk.reply(replies)
    assert talk.requests.num_rows == 2
    assert talk.reply(pa.array(["x", "y"])).num_rows == 1


def test_what_has_no_turns_says_so() -> None:
    with pytest.raises(pp.TemplateError, match="converse"):
        renderer("every").render(SAMPLES)
    with pytest.raises(pp.TemplateError, match="every"):
        renderer("last").converse(SAMPLES)
    with pytest.raises(pp.TemplateError, match="infer_mode"):
        renderer("never")
    with pytest.raises(pp.TemplateError, match="generation"):
        renderer("last", mode="ppl", labels=["A"])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"question": [["a"]]}, "answer"),
        ({"question": [["a"]], "answer": [1]}, "expected a list of turns"),
        ({"question": [["a"], None], "answer": [["b"], ["c"]]}, "row 1"),
    ],
)
def test_wrong_columns_are_named(columns: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(pp.RenderError, match=words):
        renderer("every_with_gt").render(pa.table(columns))
