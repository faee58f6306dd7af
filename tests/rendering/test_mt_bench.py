"""MT-bench through all three modes, with a scripted model answering; where the data are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DATA = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).parents[3] / "shared") / "data" / "mt_bench.parquet"
TEMPLATE = {
    "type": "MultiTurnPromptTemplate",
    "template": {
        "round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}],
    },
}
CHAT = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<|user|>\n", "end": "<|end|>\n", "api_role": "user"},
        {"role": "BOT", "begin": "<|bot|>\n", "end": "<|end|>\n", "api_role": "assistant", "generate": True},
    ],
}


def scripted(sample: int, turn: int) -> str:
    return f"Answer {turn} to {sample}: {{question}}, {{answer}}."


def prompt(questions: list[str], answers: list[str]) -> str:
    """Return what the model gets after these answers."""
    rounds = [f"<|user|>\n{q}<|end|>\n<|bot|>\n{a}<|end|>\n" for q, a in zip(questions, answers, strict=False)]
    return "<s>" + "".join(rounds) + f"<|user|>\n{questions[len(answers)]}<|end|>\n<|bot|>\n"


def fill(text: str, question: str, answer: str) -> str:
    return text.replace("{question}", question).replace("{answer}", answer)


@pytest.mark.skipif(not DATA.exists(), reason="the data are not at hand")
@pytest.mark.parametrize("mode", ["every_with_gt", "last", "every"])
def test_every_conversation(mode: str) -> None:
    table = pq.read_table(DATA)
    questions, answers = table["question"].to_pylist(), table["answer"].to_pylist()
    assert len(questions) == 80
    renderer = pp.Renderer(
        TEMPLATE,
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": mode},
        meta_template=CHAT,
        output="text",
        dialect="aisbench",
    )
    want: list[tuple[int, int, str]] = []
    for sample, (questions_of_sample, references) in enumerate(zip(questions, answers, strict=True)):
        # A round is filled as one: a question may bring in the answer that stands beside it, and the other way round.
        pairs = list(zip(questions_of_sample, references, strict=False))
        filled = [fill("{question}", *pair) for pair in pairs], [fill("{answer}", *pair) for pair in pairs]
        turns = [len(pairs) - 1] if mode == "last" else range(len(pairs))
        for turn in turns:
            replies = [scripted(sample, n) for n in range(turn)] if mode == "every" else filled[1][:turn]
            want.append((sample, turn, prompt(filled[0], replies)))
    got: list[tuple[int, int, str]] = []
    if mode == "every":
        talk = renderer.converse(table)
        requests = talk.requests
        while requests.num_rows:
            rows = list(zip(*(requests[name].to_pylist() for name in ("sample", "turn", "prompt")), strict=True))
            got += rows
            requests = talk.reply(pa.array([scripted(sample, turn) for sample, turn, _ in rows]))
    else:
        numbered = table.append_column("row", pa.array(range(80)))
        rendered = renderer.render(numbered, keep=["row"])
        got = list(zip(*(rendered[name].to_pylist() for name in ("row", "turn", "prompt")), strict=True))
    assert sorted(got) == sorted(want)
    assert len(got) == (80 if mode == "last" else 160)
