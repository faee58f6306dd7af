"""All requests of a task as an Arrow table, beside lm-evaluation-harness building them as its own objects.

python benches/lm_eval_requests.py [DOCUMENTS] [--rounds N] [--stock-documents N] [--cpu]

Documents a second of `promptpress.lm_eval.requests`, with one thread and with all, and beside them how many times as
many as `build_all_requests` of the harness by itself, in one process; the figure is the median of the rounds. The
harness is given fewer documents, since it takes as long for each; their requests are compared. "chat" is a ChatML
template: a function for the harness, a `ChatTemplate` here. `--cpu` counts the process's own time on all cores, which
other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import copy
import gc
import logging
import statistics
import time
from typing import Any

import promptpress as pp
from lm_eval.api.task import ConfigurableTask
from lm_eval_backend import TASKS, documents
from promptpress._renderers.chat_template import ChatTemplate
from promptpress.lm_eval import requests

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
clock = time.perf_counter
NAMES = ("request_type", "arguments", "idx", "doc_id", "metadata")


def chatml(messages: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + ("<|im_start|>assistant\n" if add_generation_prompt else "")


def stock(config: dict[str, Any], splits: dict[str, Any], limit: int, chat: bool) -> tuple[float, list[Any]]:
    task = ConfigurableTask(config={**copy.deepcopy(config), "custom_dataset": lambda **_: dict(splits)})
    task.set_fewshot_seed(1234)
    start = clock()
    task.build_all_requests(
        limit=limit, apply_chat_template=chat, fewshot_as_multiturn=chat, chat_template=chatml if chat else None
    )
    return limit / (clock() - start), [tuple(getattr(instance, name) for name in NAMES) for instance in task.instances]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=int, nargs="?", default=100_000)
    parser.add_argument("--stock-documents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    if arguments.cpu:
        global clock  # noqa: PLW0603 - set once, before anything is measured
        clock = time.process_time
    logging.disable(logging.WARNING)
    test = documents(arguments.documents, 1)
    table = test.with_format("arrow")[:]
    for name, config, chat in [(*item, chat) for chat in (False, True) for item in TASKS.items()]:
        train = documents(5 if "fewshot_config" in config else 10_000, 2)
        shots = train.with_format("arrow")[:]
        task = {"task": "bench", **config}
        rates: dict[str, list[float]] = {"lm_eval": [], "one thread": [], "all threads": []}
        for _ in range(arguments.rounds):
            per_second, instances = stock(task, {"test": test, "train": train}, arguments.stock_documents, chat)
            rates["lm_eval"].append(per_second)
            for way, threads in (("one thread", 1), ("all threads", None)):
                pp.set_threads(threads)
                gc.collect()
                start = clock()
                made = requests(
                    task, table, shots, chat_template=ChatTemplate(CHATML) if chat else None, fewshot_as_multiturn=chat
                )
                rates[way].append(arguments.documents / (clock() - start))
            first = made.slice(0, len(instances)).to_pylist()
            assert [tuple(row[name] for name in NAMES) for row in first] == instances
            del made
        median = {way: statistics.median(per_second) for way, per_second in rates.items()}
        print(f"{name}{', chat' if chat else ''} ({arguments.documents:,} documents)")
        for way, per_second in median.items():
            print(f"  {way:12} {per_second:10,.0f} /s  {per_second / median['lm_eval']:8.1f}x", flush=True)


if __name__ == "__main__":
    main()
