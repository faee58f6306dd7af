"""Plain Python: the model that the tests use as their oracle, over a list of dicts.

The model has OpenCompass's rules. Conversations are AISBench's, and have a few lines of their own here.
"""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer


class PlainPython(Peer):
    id = "plain_python"
    name = "plain Python"

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("models.plain_model") else "tests/models/plain_model.py isn't there"

    def version(self) -> str:
        return f"{platform.python_implementation()} {platform.python_version()}"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        from models.plain_model import render

        rows = samples.to_pylist()
        if workload.config["prompt_template"]["type"] == "MultiTurnPromptTemplate":
            return lambda: with_true_answers(workload.config, rows)
        train = workload.examples().to_pylist() if workload.examples else []
        return lambda: render(workload.peer_config, rows, train)

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer


def with_true_answers(config: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """A request a turn of each conversation, to text: all that was said before it, then its question."""
    human, bot = config["prompt_template"]["template"]["round"]
    meta = config["meta_template"]
    user, assistant = meta["round"]
    requests = []
    for row in rows:
        conversation = meta.get("begin", "")
        for question, answer in zip(row["question"], row["answer"], strict=True):
            texts = [
                turn["prompt"].replace("{question}", question).replace("{answer}", answer) for turn in (human, bot)
            ]
            conversation += user["begin"] + texts[0] + user["end"] + assistant["begin"]
            requests.append(conversation)
            conversation += texts[1] + assistant["end"]
    return requests
