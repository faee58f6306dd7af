"""Workloads of the benches as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from texts import (
    SHOTS,
    conversations,
    hostile,
    mathematics,
    mixed,
    multiple_choice,
    repeated,
    with_shot_columns,
    word_problems,
)

# Who can do what: the harnesses' rules (examples, roles, labels, values that are templates themselves) only they and
# the plain-Python model know. A string template without any of these is everybody's; of values that aren't strings,
# some print other texts than Python does.
HARNESSES = ("opencompass", "aisbench", "plain_python")
PYTHON_TEXTS = ("str_format", "hf_map")
STRING_TEMPLATES = (*PYTHON_TEXTS, "duckdb", "pyarrow", "polars")


@dataclass(frozen=True)
class Workload:
    """One job: `config` holds the keyword arguments of `promptpress.Renderer` but `examples`."""

    id: str
    about: str
    config: dict[str, Any]
    samples: Callable[[int], pa.Table]
    examples: Callable[[], pa.Table] | None = None
    peers: tuple[str, ...] = HARNESSES
    requests_per_sample: int = 1

    @property
    def as_json(self) -> bool:
        """Return true if requests are messages as JSON texts; peers give them as lists."""
        return self.config.get("output") == "messages_json"

    @property
    def peer_config(self) -> dict[str, Any]:
        """`config` as peers take it."""
        return {**self.config, "output": "messages"} if self.as_json else self.config


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

ZERO = {
    "prompt_template": {
        "type": "PromptTemplate",
        "template": f"A multiple choice question follows. Answer with one letter.\n\n{QUESTION}\nAnswer:",
    },
    "retriever": {"type": "ZeroRetriever"},
    "reader": {"input_columns": ["input", "A", "B", "C", "D"], "output_column": None},
    "inferencer": {"type": "GenInferencer"},
}


def of_five(id_: str, about: str, meta_template: dict[str, Any], **settings: str) -> Workload:
    """Return a workload of dialogues with five examples."""
    config = {**FIVE, "meta_template": meta_template, **settings}
    return Workload(id_, about, config, lambda count: repeated(multiple_choice(), count), multiple_choice)


WORKLOADS = [
    Workload(
        id="zero",
        about="zero-shot string, five columns",
        config=ZERO,
        samples=lambda count: repeated(multiple_choice(), count, ["input", "A", "B", "C", "D"]),
        peers=(*HARNESSES, *STRING_TEMPLATES),
    ),
    of_five("five-text", "five-shot dialogue (FixK) through a chat meta template to text", CHAT_TEXT, output="text"),
    of_five("five-messages", "the same to messages", CHAT_MESSAGES, output="messages"),
    of_five(
        "five-messages-view",
        'the same to messages with `strings="string_view"`',
        CHAT_MESSAGES,
        output="messages",
        strings="string_view",
    ),
    of_five(
        "five-messages-json",
        'the same to messages as JSON texts (`output="messages_json"`)',
        CHAT_MESSAGES,
        output="messages_json",
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
        samples=with_shot_columns,
        examples=lambda: word_problems("train"),
        peers=("plain_python",),
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
        requests_per_sample=4,
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
        peers=(*HARNESSES, *STRING_TEMPLATES),
    ),
    Workload(
        id="hostile",
        about="zero-shot string; every value holds the placeholder of the next column",
        config={**ZERO, "reader": {**READER, "output_column": None}},
        samples=hostile,
    ),
    Workload(
        id="mixed",
        about="zero-shot string; int, float, bool, null and list columns",
        config={
            "prompt_template": {
                "type": "PromptTemplate",
                "template": "{question}\nNumber: {number}, score: {score}, checked: {checked}, hint: {hint}, "
                "nothing: {nothing}\nChoices: {choices}\nAnswer:",
            },
            "retriever": {"type": "ZeroRetriever"},
            "reader": {
                "input_columns": ["question", "number", "score", "checked", "hint", "nothing", "choices"],
                "output_column": None,
            },
            "inferencer": {"type": "GenInferencer"},
        },
        samples=mixed,
        peers=(*HARNESSES, *PYTHON_TEXTS),
    ),
    Workload(
        id="turns",
        about="two-turn conversations, every_with_gt, to text",
        config={
            "prompt_template": {
                "type": "MultiTurnPromptTemplate",
                "template": {
                    "round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
                },
            },
            "retriever": {"type": "ZeroRetriever"},
            "reader": PROBLEM_READER,
            "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
            "meta_template": CHAT_TEXT,
            "output": "text",
            "dialect": "aisbench",
        },
        samples=conversations,
        peers=("aisbench", "plain_python"),
        requests_per_sample=2,
    ),
]
BY_ID = {workload.id: workload for workload in WORKLOADS}
