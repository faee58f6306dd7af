"""Runs in which a later row raises: with the backend on, the model is asked as much before that as with it off."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from real.harness.both import MODELS, answers
from real.harness.test_backend_parallel import in_order

pytestmark = pytest.mark.usefixtures("opencompass")

ROWS = 50
BEYOND_YEARS = 253402300800
INFERENCERS = (
    *("GenInferencer", "GenInferencer", "ParallelGenInferencer"),
    *("PPLInferencer", "LLInferencer", "CLPInferencer", "ChatInferencer"),
)
HUMAN, BOT = {"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}
PROMPTS: dict[str, Any] = {
    "a text": "</E>Q: {q}\nA: {a}",
    "examples before the round": {"begin": "</E>", "round": [HUMAN, BOT]},
    "examples in a list": {"begin": ["Look. ", "</E>"], "round": [HUMAN, BOT]},
    "examples within a turn": {"round": [{"role": "HUMAN", "prompt": "x</E> {q}"}, BOT]},
    "a bare text of the data": {"begin": ["</E>", "{t}"], "round": [HUMAN, BOT]},
    "an unknown role": {"begin": "</E>", "round": [{"role": "TEACHER", "prompt": "{q}"}, BOT]},
    "labels": {"A": "</E>{q} A", "B": "</E>{q} B"},
}
SHOTS: dict[str, Any] = {
    "a text": "{q} is {a}",
    "turns": {"round": [HUMAN, BOT]},
    "a text a label": {"A": "{q} is A", "B": "{q} is B"},
    "a text or turns": {"A": "{q} is A", "B": {"round": [HUMAN, BOT]}},
    "none": None,
}


def template(chance: random.Random, bodies: dict[str, Any], *, with_token: bool) -> dict[str, Any] | None:
    body = chance.choice(list(bodies.values()))
    if body is None:
        return None
    made = {"type": "PromptTemplate", "template": body}
    if with_token and chance.random() < 0.95:
        made["ice_token"] = "</E>"
    return made


def samples(chance: random.Random) -> pa.Table:
    """Rows of which a later one can't be read, or holds what a parser stumbles over."""
    late = chance.randrange(ROWS // 2, ROWS)
    texts: list[Any] = [f"t{n}" for n in range(ROWS)]
    texts[late] = chance.choice(["a section", "", "{q}", "</E>", None, "t"])
    answers = [chance.choice("AB") for _ in range(ROWS)]
    if chance.random() < 0.3:
        answers[late] = "C"
    columns: dict[str, Any] = {"q": [f"q{n}" for n in range(ROWS)], "t": texts, "a": answers}
    trouble = chance.choice([None, None, None, "text", "moment", "list", "bytes in a list"])
    if trouble == "text":
        raw = [b"\xff" if n == late else b"x" for n in range(ROWS)]
        columns[chance.choice(["q", "t", "u"])] = pa.array(raw, pa.binary()).view(pa.string())
    elif trouble == "moment":
        columns["u"] = pa.array([BEYOND_YEARS if n == late else n for n in range(ROWS)], pa.timestamp("s"))
    elif trouble == "list":
        columns["q"] = pa.array([None if n == late else ["a", "b"] for n in range(ROWS)], pa.list_(pa.string()))
    elif trouble == "bytes in a list":
        raw = pa.array([b"\xff" if n == late else b"x" for n in range(ROWS)], pa.binary()).view(pa.string())
        columns["u"] = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), raw)
    content = chance.choice(["x", ["x"]])
    columns["m"] = [[{"role": "user", "content": content}] for _ in range(ROWS)]
    columns["m"][late] = [{"role": chance.choice(["system", "tutor", "assistant"]), "content": content}]
    columns["cont"] = ["yes"] * ROWS
    columns["choices"] = [["A", "B"]] * ROWS
    return pa.table(columns)


def choice(chance: random.Random) -> list[list[int]] | None:
    """Examples for some rows only, mostly late ones; None for what the retriever chooses itself."""
    if chance.random() < 0.2:
        return None
    first = chance.randrange(1, ROWS)
    most = chance.choice([0, 1, 2, 3])
    chosen = [[chance.randrange(ROWS) for _ in range(chance.randint(min(1, most), most))] for _ in range(ROWS)]
    for row in range(first):
        chosen[row] = []
    if chance.random() < 0.1:
        chosen[-1] = chance.choice([[ROWS], [-1], None, ["0"]])
    return chosen


def drawn(chance: random.Random) -> dict[str, Any]:
    inferencer = chance.choice(INFERENCERS)
    table, chosen = samples(chance), choice(chance)
    prompt = template(chance, PROMPTS, with_token=True)
    if chance.random() < 0.15:
        prompt = {"type": "RawPromptTemplate", "messages": ["</E>", {"expand_column": "m"}]}
    options: dict[str, Any] = {"type": inferencer, "max_seq_len": chance.choice([None, None, 8, 1000])}
    if inferencer in {"PPLInferencer", "LLInferencer", "CLPInferencer", "GenInferencer"}:
        options["batch_size"] = chance.choice([1, 3, 16])
    if inferencer in {"PPLInferencer", "LLInferencer"}:
        options["labels"] = chance.choice([None, ["A", "B"], ["A", "nowhere"]])
    if inferencer == "ChatInferencer":
        options["infer_mode"] = chance.choice(["last", "every", "every_with_gt"])

    def before(_: Any, retriever: Any, __: Any) -> None:
        if chosen is not None:
            retriever.retrieve = lambda: [None if rows is None else list(rows) for rows in chosen]

    return {
        "samples": table,
        "examples": table,
        "reader": {
            "input_columns": chance.choice([["q"], ["q", "t"]]),
            "output_column": chance.choice(["a", "a", "a", None]),
        },
        "retriever": chance.choice([{"type": "ZeroRetriever"}, {"type": "FixKRetriever", "fix_id_list": [1, 2]}]),
        "ice_template": template(chance, SHOTS, with_token=False),
        "prompt_template": prompt,
        "inferencer": options,
        "before": before,
        **MODELS[chance.choice(["text", "lines"] if inferencer == "CLPInferencer" else list(MODELS))],
    }


def unnamed(answer: Any) -> Any:
    """Drop the text of an exception: of workers side by side any may be the first to raise, so its row varies."""
    kept = dict(answer[1])
    if "raised" in kept:
        kind, parts = kept["raised"]
        kept["raised"] = (kind, [part for part in parts if part[0] == "type"])
    return answer[0], list(kept.items())


def check(seed: int) -> bool:
    """Run a case off and on; whether it raises."""
    case = drawn(random.Random(seed))
    off, on = answers(case)
    is_raising = "raised" in dict(off[1])
    if case["inferencer"]["type"] == "ParallelGenInferencer":
        off, on = in_order(unnamed(off)), in_order(unnamed(on))
    assert on == off, f"seed {seed}"
    return is_raising


def test_later_rows_that_raise() -> None:
    assert sum(check(seed) for seed in range(60)) > 20


@pytest.mark.full
def test_many_later_rows_that_raise() -> None:
    assert sum(check(seed) for seed in range(1000, 1300)) > 90


def test_examples_for_later_rows_only() -> None:
    """The harness refuses to put turns into a turn, and makes all its prompts before it asks the model."""
    table = pa.table({"q": [f"q{n}" for n in range(40)], "a": ["x"] * 40})
    chosen = [[] if n < 35 else [n] for n in range(40)]
    case = {
        "samples": table,
        "examples": table,
        "reader": {"input_columns": ["q"], "output_column": "a"},
        "ice_template": {"type": "PromptTemplate", "template": SHOTS["turns"]},
        "prompt_template": {
            "type": "PromptTemplate",
            "template": PROMPTS["examples within a turn"],
            "ice_token": "</E>",
        },
        "inferencer": {"type": "GenInferencer", "batch_size": 1},
        "before": lambda _, retriever, __: setattr(retriever, "retrieve", lambda: list(chosen)),
        **MODELS["text"],
    }
    off, on = answers(case)
    assert on == off
    assert ("received", ("list", [])) in on[1]
    assert ("files", ("dict", [])) in on[1]


@pytest.mark.parametrize("max_seq_len", [None, 1000])
def test_messages_that_the_parser_refuses_late(max_seq_len: int | None) -> None:
    """With a limit of tokens the harness parses all prompts before it asks the model, and otherwise as it goes."""
    talks = [[{"role": "user" if n < 39 else "system", "content": ["x"]}] for n in range(40)]
    case = {
        "samples": pa.table({"m": talks, "a": ["x"] * 40}),
        "reader": {"input_columns": ["m"], "output_column": "a"},
        "prompt_template": {"type": "RawPromptTemplate", "messages": [{"expand_column": "m"}]},
        "inferencer": {"type": "GenInferencer", "batch_size": 1, "max_seq_len": max_seq_len},
        **MODELS["list"],
    }
    off, on = answers(case)
    assert on == off
    assert "raised" in dict(off[1])
    assert (("received", ("list", [])) in off[1]) == (max_seq_len is not None)
