"""Workloads whose instructions are counted: all that the benches time, each as one call of a promptpress object."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from chat_workloads import CHATS_BY_ID, ChatWorkload
from chat_workloads import conversations as messages
from jinja_workloads import JINJA_WORKLOADS, listed
from texts import with_placeholders
from workloads import CHAT_TEXT, PROBLEM_READER, WORKLOADS, Workload, conversations

# Rows: whole chunks of the row loop, and output that is mapped, not allocated. The second is for slower calls.
MANY = (16_384, 65_536)
FEW = (4_096, 16_384)
LM_EVAL_TASK = {
    "task": "counted",
    "output_type": "multiple_choice",
    "doc_to_text": "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nD. {{choices[3]}}\n"
    "Answer:",
    "doc_to_choice": ["A", "B", "C", "D"],
    "doc_to_target": "answer",
    "test_split": "test",
    "fewshot_split": "train",
    "num_fewshot": 5,
}


@dataclass(frozen=True)
class Counted:
    """One call, as plain data for a counted process: `owner(*arguments, **settings).method(samples, **options)`.

    Attributes:
        samples: Makes a table of so many rows.
        owner: The name of a class in `promptpress`, or `"lm_eval"`, whose function takes the arguments itself.
        rows: The numbers of rows of the two calls whose difference counts.

    """

    samples: Callable[[int], pa.Table]
    owner: str
    arguments: tuple[Any, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    method: str = "render"
    options: dict[str, Any] = field(default_factory=dict)
    rows: tuple[int, int] = MANY

    def as_data(self) -> dict[str, Any]:
        """Return what can be pickled: the same with the samples made."""
        return {**vars(self), "samples": self.samples(self.rows[1])}


def call_of(data: dict[str, Any]) -> Callable[[pa.Table], Any]:
    """Return the function of samples that the data of a `Counted` describes."""
    import promptpress
    from promptpress.lm_eval import requests

    arguments, options = data["arguments"], data["options"]
    if data["owner"] == "lm_eval":
        return partial(requests, *arguments, **options)
    owner = getattr(promptpress, data["owner"])(*arguments, **data["settings"])
    return partial(getattr(owner, data["method"]), **options)


def of_workload(workload: Workload, **call: Any) -> Counted:
    """Return the call of a renderer; its examples are made when the workload is chosen."""
    examples = workload.examples and workload.examples()
    return Counted(workload.samples, "Renderer", (), {**workload.config, "examples": examples}, **call)


def with_filled_rows(workload: Workload) -> Counted:
    """Return the call of a renderer for samples of which one in 24 brings in a placeholder."""
    call = of_workload(workload)
    return replace(call, samples=lambda count: with_placeholders(workload.samples(count), 24, "input", "{A}"))


def chat() -> Workload:
    """Return a workload without peers: a chat of list columns in which every turn is a request."""
    config = {
        "reader": PROBLEM_READER,
        "inferencer": {"type": "ChatInferencer", "infer_mode": "every_with_gt"},
        "meta_template": CHAT_TEXT,
        "output": "text",
    }
    return Workload(id="chat", about="two-turn chats of list columns", config=config, samples=conversations)


def of_chat_template(workload: ChatWorkload, **call: Any) -> Counted:
    """Return the call of a chat template."""
    settings = {"add_generation_prompt": True, **workload.variables}
    return Counted(lambda count: messages(workload.shots, count), "ChatTemplate", (workload.source,), settings, **call)


def tokens() -> Counted:
    """Return the call that encodes conversations, with a small tokenizer that is trained here."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
    from parts.small_tokenizers import small_tokenizer

    options = {"tokenizer": small_tokenizer("qwen")}
    return of_chat_template(CHATS_BY_ID["chatml"], method="tokenize", options=options, rows=FEW)


def lm_eval() -> Counted:
    """Return the call that makes all requests of a task, with five drawn examples."""

    def documents(count: int) -> pa.Table:
        table = listed(count)
        return table.append_column("answer", pa.array([row % 4 for row in range(count)]))

    return Counted(documents, "lm_eval", (LM_EVAL_TASK,), options={"fewshot_docs": documents(1000)}, rows=FEW)


def counted() -> dict[str, Callable[[], Counted]]:
    """Return a function for each workload, by its name: making its samples takes a while."""
    workloads = {workload.id: workload for workload in (*WORKLOADS, chat())}
    slow = ("hostile", "chat")
    calls: dict[str, Callable[[], Counted]] = {
        name: partial(of_workload, workload, rows=FEW if name in slow else MANY) for name, workload in workloads.items()
    }
    detailed = {"spans": "detailed"}
    calls["five-text detailed spans"] = partial(of_workload, workloads["five-text"], options=detailed, rows=FEW)
    for name in ("zero", "five-text", "five-messages"):
        calls[f"{name} spans"] = partial(of_workload, workloads[name], options={"spans": True}, rows=FEW)
        calls[f"{name} audit"] = partial(of_workload, workloads[name], method="audit", rows=FEW)
    for name in ("zero", "five-text", "five-messages-json"):
        calls[f"{name} filled"] = partial(with_filled_rows, workloads[name])
    for template in JINJA_WORKLOADS:
        calls[f"jinja {template.id}"] = partial(Counted, template.samples, "JinjaTemplate", (template.source,))
    for conversation in CHATS_BY_ID.values():
        rows = FEW if conversation.shots else MANY
        calls[f"template {conversation.id}"] = partial(of_chat_template, conversation, rows=rows)
    return {**calls, "lm-eval": lm_eval, "tokens": tokens}
