"""What the benches render: workloads as data.

The text is real where the data sets are at hand (`PROMPTPRESS_SHARED`, else the folder `shared` beside the project),
and else generated from a fixed seed in the same shape: so many rows, so many bytes a field. Either way the rows are
repeated up to the number asked for, each repetition with memory of its own.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[2] / "shared")
SEED = 20240607
SHOTS = 5


@dataclass(frozen=True)
class Workload:
    """One job: `config` holds the keyword arguments of `promptpress.Renderer` but `examples`."""

    id: str
    about: str
    config: dict[str, Any]
    samples: Callable[[int], pa.Table]
    examples: Callable[[], pa.Table] | None = None
    peers: tuple[str, ...] = ("plain_python", "opencompass")
    targets: dict[str, float] = field(default_factory=dict)  # peer -> how many times its rate at least

    @property
    def requests_per_sample(self) -> int:
        """How many prompts a sample gives."""
        return len(self.config.get("labels") or [None])


# ---------------------------------------------------------------------------------------------------------------------
# Texts.


def real_texts() -> bool:
    """Whether the data sets are at hand."""
    return (SHARED / "data").is_dir()


@lru_cache
def multiple_choice() -> pa.Table:
    """3,018 questions with four choices: input, A, B, C, D, target."""
    names = ["input", "A", "B", "C", "D", "target"]
    if real_texts():
        return pq.read_table(SHARED / "data" / "mmlu_stem.parquet", columns=names)
    words = Words("multiple_choice")
    rows = [[words.text(149), *(words.text(27) for _ in range(4)), words.pick("ABCD")] for _ in range(3018)]
    return pa.table({name: pa.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


@lru_cache
def word_problems(split: str) -> pa.Table:
    """7,473 (train) or 1,319 (test) questions and worked answers: question, answer."""
    if real_texts():
        return pq.read_table(SHARED / "data" / f"gsm8k_{split}.parquet", columns=["question", "answer"])
    words = Words(split)
    count = {"train": 7473, "test": 1319}[split]
    return pa.table(
        {
            "question": [words.text(237) for _ in range(count)],
            "answer": [f"{words.text(280)}\n#### {words.number()}" for _ in range(count)],
        }
    )


@lru_cache
def mathematics() -> pa.Table:
    """272 problems in LaTeX, braces everywhere, no placeholder among them: problem, type."""
    if real_texts():
        return pq.read_table(SHARED / "data" / "minerva_math.parquet", columns=["problem", "type"])
    words = Words("mathematics")
    return pa.table({"problem": [words.latex(421) for _ in range(272)], "type": [words.text(46) for _ in range(272)]})


class Words:
    """Text of about a given length, the same in every run."""

    ALPHABET = "etaoinshrdlucmfwypvbgkq"

    def __init__(self, name: str) -> None:
        self.random = random.Random(f"{SEED} {name}")

    def pick(self, choices: str) -> str:
        return self.random.choice(choices)

    def number(self) -> int:
        return self.random.randrange(1000)

    def word(self) -> str:
        return "".join(self.random.choices(self.ALPHABET, k=self.random.randint(1, 9)))

    def text(self, mean: int) -> str:
        return self._until(mean, self.word)

    def latex(self, mean: int) -> str:
        return self._until(mean, lambda: self.formula() if self.number() < 250 else self.word())

    def formula(self) -> str:
        a, b, c = self.word(), self.number(), self.number()
        return self.pick([f"$\\frac{{{b}}}{{{c}}}$", f"${b} \\mathrm{{~{a}}}$", f"$x_{{{b}}}^{{{c}}}$", "\\sqrt{\\pi}"])

    def _until(self, mean: int, part: Callable[[], str]) -> str:
        length = max(1, int(self.random.lognormvariate(0, 0.5) * mean * 0.88))
        text = part()
        while len(text) < length:
            text += " " + part()
        return text[:length].rstrip() if "\\" not in text else text


def repeated(table: pa.Table, count: int, columns: list[str] | None = None) -> pa.Table:
    """The first `count` rows of the table repeated without end, one chunk a column."""
    table = table.select(columns) if columns else table
    times = -(-count // table.num_rows)
    return pa.concat_tables([table] * times).slice(0, count).combine_chunks()


def with_own_shots(count: int) -> pa.Table:
    """Word problems with a column of five examples each, drawn at random for every row."""
    table = repeated(word_problems("test"), count)
    draw = random.Random(SEED)
    indices = draw.choices(range(word_problems("train").num_rows), k=SHOTS * count)
    offsets = pa.array(range(0, SHOTS * count + 1, SHOTS), pa.int32())
    return table.append_column("shots", pa.ListArray.from_arrays(offsets, pa.array(indices, pa.int64())))


# ---------------------------------------------------------------------------------------------------------------------
# Configurations.

QUESTION = "{input}\nA. {A}\nB. {B}\nC. {C}\nD. {D}"
CHAT_TEXT = {
    "begin": "<|begin_of_text|>",
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "begin": "<|im_start|>system\n", "end": "<|im_end|>\n"}],
}
CHAT_MESSAGES = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
READER = {"input_columns": ["input", "A", "B", "C", "D"], "output_column": "target"}
PROBLEM_READER = {"input_columns": ["question"], "output_column": "answer"}


def dialogue(question: str, answer: str, system: str) -> dict[str, Any]:
    """The templates of a few-shot dialogue, as configurations write them."""
    turns = [{"role": "HUMAN", "prompt": question}, {"role": "BOT", "prompt": answer}]
    begin = [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": system}, "</E>"]
    return {
        "ice_template": {"type": "PromptTemplate", "template": {"round": turns}, "ice_token": "</E>"},
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {"begin": begin, "round": turns},
            "ice_token": "</E>",
        },
    }


FIVE = {
    **dialogue(f"Question: {QUESTION}\nAnswer: ", "{target}\n", "Pick the right choice. Answer with its letter."),
    "retriever": {"type": "FixKRetriever", "fix_id_list": list(range(SHOTS))},
    "reader": READER,
    "inferencer": {"type": "GenInferencer"},
}

WORKLOADS = [
    Workload(
        id="zero",
        about="zero-shot string, five columns",
        config={
            "prompt_template": {
                "type": "PromptTemplate",
                "template": f"A multiple choice question follows. Answer with one letter.\n\n{QUESTION}\nAnswer:",
            },
            "retriever": {"type": "ZeroRetriever"},
            "reader": {"input_columns": ["input", "A", "B", "C", "D"], "output_column": None},
            "inferencer": {"type": "GenInferencer"},
        },
        samples=lambda count: repeated(multiple_choice(), count, ["input", "A", "B", "C", "D"]),
        targets={"opencompass": 100, "plain_python": 10},
    ),
    Workload(
        id="five-text",
        about="five-shot dialogue (FixK) through a chat meta template to text",
        config={**FIVE, "meta_template": CHAT_TEXT, "output": "text"},
        samples=lambda count: repeated(multiple_choice(), count),
        examples=multiple_choice,
        targets={"opencompass": 500, "plain_python": 10},
    ),
    Workload(
        id="five-messages",
        about="the same to messages",
        config={**FIVE, "meta_template": CHAT_MESSAGES, "output": "messages"},
        samples=lambda count: repeated(multiple_choice(), count),
        examples=multiple_choice,
        targets={"plain_python": 10},
    ),
    Workload(
        id="own-shots",
        about="five shots of its own per sample (IndexColumn into 7,473 examples), dialogue to text",
        config={
            **dialogue("Question: {question}", "{answer}", "Solve the problem step by step."),
            "retriever": {"type": "IndexColumn", "column": "shots"},
            "reader": PROBLEM_READER,
            "inferencer": {"type": "GenInferencer"},
            "meta_template": CHAT_TEXT,
            "output": "text",
        },
        samples=with_own_shots,
        examples=lambda: word_problems("train"),
        peers=("plain_python",),
        targets={"plain_python": 10},
    ),
    Workload(
        id="ppl",
        about="four labels a sample, dialogue, to text",
        config={
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {
                    label: {
                        "round": [
                            {"role": "HUMAN", "prompt": f"Question: {QUESTION}"},
                            {"role": "BOT", "prompt": f"Answer: {label}"},
                        ]
                    }
                    for label in "ABCD"
                },
            },
            "retriever": {"type": "ZeroRetriever"},
            "reader": READER,
            "inferencer": {"type": "PPLInferencer"},
            "meta_template": CHAT_TEXT,
            "output": "text",
            "labels": list("ABCD"),
        },
        samples=lambda count: repeated(multiple_choice(), count),
        targets={"plain_python": 10},
    ),
    Workload(
        id="latex",
        about="mathematical problems, zero-shot string: braces everywhere, no placeholders in them",
        config={
            "prompt_template": {
                "type": "PromptTemplate",
                "template": "Problem ({type}):\n{problem}\n\nSolve it. Put the answer into \\boxed{}.\n\nSolution:",
            },
            "retriever": {"type": "ZeroRetriever"},
            "reader": {"input_columns": ["problem", "type"], "output_column": None},
            "inferencer": {"type": "GenInferencer"},
        },
        samples=lambda count: repeated(mathematics(), count),
        targets={"plain_python": 10},
    ),
]
BY_ID = {workload.id: workload for workload in WORKLOADS}
