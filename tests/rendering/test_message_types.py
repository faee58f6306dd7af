"""The type of messages is decided before the data is seen, and nothing of a message gets lost in it."""

from __future__ import annotations

import json
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

BOT_FIRST = [{"role": "BOT", "prompt": "{answer}"}, {"role": "HUMAN", "prompt": "{question}"}]
OTHER_KEYS = [{"role": "HUMAN", "prompt": "{question}", "x": 3}, {"role": "BOT", "prompt": "{answer}", "y": [1]}]
CHATS = pa.table({"question": [["a", "b"], ["c"], []], "answer": [["1", "2"], ["3"], []]})


def multi_turn(turns: list[dict[str, Any]], output: str, infer_mode: str) -> pp.Renderer:
    return pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": {"round": turns}},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": infer_mode},
        dialect="aisbench",
        output=output,  # type: ignore[arg-type]
    )


def without_nulls(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if value is not None}


@pytest.mark.parametrize("infer_mode", ["every_with_gt", "last"])
@pytest.mark.parametrize(
    "turns", [BOT_FIRST, OTHER_KEYS, OTHER_KEYS[::-1]], ids=["bot first", "keys", "keys, bot first"]
)
def test_turns_that_the_first_request_lacks_have_their_place(turns: list[dict[str, Any]], infer_mode: str) -> None:
    lists = multi_turn(turns, "prompt_list", infer_mode).render(CHATS)["prompt"].to_pylist()

    def filled_turn(turn: dict[str, Any], question: str, answer: str) -> dict[str, Any]:
        return {**turn, "prompt": turn["prompt"].format(question=question, answer=answer)}

    bot = [turn["role"] for turn in turns].index("BOT")
    expected = []
    for pairs in ([("a", "1"), ("b", "2")], [("c", "3")]):
        for last in range(len(pairs)) if infer_mode == "every_with_gt" else [len(pairs) - 1]:
            history = [filled_turn(turn, *pair) for pair in pairs[:last] for turn in turns]
            expected.append(history + [filled_turn(turn, *pairs[last]) for turn in turns[:bot]])
    assert [[without_nulls(message) for message in messages] for messages in lists] == expected


def test_the_schema_is_the_same_before_and_after() -> None:
    renderer = multi_turn(OTHER_KEYS, "prompt_list", "last")
    assert renderer.render(CHATS).schema == renderer.output_schema(CHATS.schema)


def test_replies_have_their_place() -> None:
    conversation = multi_turn(BOT_FIRST, "prompt_list", "every").converse(CHATS)
    assert conversation.requests["prompt"].to_pylist() == [[], []]
    second = conversation.reply(["mine", "yours"])
    assert second["prompt"].to_pylist() == [[{"role": "BOT", "prompt": "mine"}, {"role": "HUMAN", "prompt": "a"}]]


def test_texts_and_messages_stand_side_by_side_in_json() -> None:
    template = {"A": "Q {q}", "B": {"round": [{"role": "HUMAN", "prompt": "q {q}"}]}, "C": "{q}"}
    arguments: dict[str, Any] = {
        "mode": "ppl",
        "reader": {"output_column": "a"},
        "meta_template": {"round": [{"role": "HUMAN", "api_role": "H"}]},
    }
    samples = pa.table({"q": ["1", "2"], "a": ["A", "B"]})
    table = pp.Renderer(template, output="messages_json", **arguments).render(samples)
    expected = [request for q in "12" for request in (f"Q {q}", [{"role": "H", "prompt": f"q {q}"}], q)]
    assert [json.loads(text) for text in table["prompt"].to_pylist()] == expected
    with pytest.raises(pp.RenderError, match="messages_json"):
        pp.Renderer(template, output="messages", **arguments).render(samples)


def test_bodies_that_a_column_chooses_have_their_keys() -> None:
    template = {
        "type": "PromptTemplate",
        "template": {
            "A": {"round": [{"role": "HUMAN", "prompt": "</Q>", "a": 1}]},
            "B": {"round": [{"role": "HUMAN", "prompt": "</Q>", "b": "two"}]},
        },
        "column_token_map": {"q": "</Q>"},
        "selected_column_name": "l",
        "selected_column_map": {"A": "a", "B": "b"},
    }
    samples = pa.table({"q": ["1", "2"], "l": ["A", "B"]})
    renderer = pp.Renderer(template, reader={"output_column": None}, dialect="meta_prompt_design", output="prompt_list")
    lists = renderer.render(samples)["prompt"].to_pylist()
    assert [[without_nulls(message) for message in messages] for messages in lists] == [
        [{"role": "HUMAN", "prompt": "1", "a": 1}],
        [{"role": "HUMAN", "prompt": "2", "b": "two"}],
    ]


def test_an_index_that_no_int64_holds_is_no_null() -> None:
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        "{q}",
        {"type": "IndexColumn", "column": "shots"},
        examples=pa.table({"q": ["e"], "a": [""]}),
        reader={"output_column": "a"},
    )
    samples = pa.table({"q": ["s"], "a": [""], "shots": pa.array([[2**64 - 1]], pa.list_(pa.uint64()))})
    with pytest.raises(pp.RenderError, match="18446744073709551615"):
        renderer.render(samples)
