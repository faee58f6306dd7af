"""lm-evaluation-harness building its requests: by itself, with templates compiled once, and with the bulk backend.

python benches/lm_eval_backend.py [DOCUMENTS] [--rounds N] [--stock-documents N]

Documents a second of `build_all_requests`, by the clock and by the processor's time of all threads, which a machine
with other work changes less, each with how many times as many as the harness with templates compiled once: that is
what 0.5 does by itself, and "compile cache" has 0.4 do by keeping what `lm_eval.utils.env.from_string` compiles. All
ways are measured in turn, in one process, over the same made-up documents, and make the same requests; figures are
medians of the rounds. By itself 0.4 is given fewer documents, since it takes as long for each. "backend, not bulk" is
what the backend does in 0.4 for tasks that stay with the harness.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import logging
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TQDM_DISABLE="1")

import datasets
from lm_eval import utils
from lm_eval.api.task import ConfigurableTask, Task
from promptpress import lm_eval as promptpress_lm_eval

WORDS = ("the", "of", "a", "quantum", "field", "energy", "which", "what", "following", "theory", "state", "is", "by")
MMLU = "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nD. {{choices[3]}}\nAnswer:"
COMMON = {"test_split": "test", "fewshot_split": "train", "num_fewshot": 5}
TASKS: dict[str, dict[str, Any]] = {
    "MMLU-like, first five of five": {
        **COMMON,
        "output_type": "multiple_choice",
        "doc_to_text": MMLU,
        "doc_to_choice": ["A", "B", "C", "D"],
        "doc_to_target": "answer",
        "description": "The following are multiple choice questions (with answers) about physics.\n\n",
        "fewshot_config": {"sampler": "first_n"},
    },
    "the same, five of 10,000 drawn": {
        **COMMON,
        "output_type": "multiple_choice",
        "doc_to_text": MMLU,
        "doc_to_choice": ["A", "B", "C", "D"],
        "doc_to_target": "answer",
    },
    "choices of a template, five drawn": {
        **COMMON,
        "output_type": "multiple_choice",
        "doc_to_text": "Question: {{question}}\nAnswer:",
        "doc_to_choice": "{{[choices[0], choices[1]]}}",
        "doc_to_target": "{{answer % 2}}",
    },
    "generation, five drawn": {
        **COMMON,
        "output_type": "generate_until",
        "doc_to_text": "Question: {{question}}\nAnswer:",
        "doc_to_target": "{{choices[answer]}}",
        "generation_kwargs": {"until": ["Question:", "</s>"], "do_sample": False, "temperature": 0.0},
    },
}


def documents(count: int, seed: int) -> Any:
    chosen = random.Random(seed)

    def words(number: int) -> str:
        return " ".join(chosen.choices(WORDS, k=number))

    rows = [
        {
            "question": words(25) + "?",
            "subject": "physics",
            "choices": [words(4) for _ in range(4)],
            "answer": chosen.randrange(4),
        }
        for _ in range(count)
    ]
    return datasets.Dataset.from_list(rows)


@contextlib.contextmanager
def compile_cache() -> Iterator[None]:
    compile_source, kept = utils.env.from_string, {}

    def from_string(source: str) -> Any:
        if source not in kept:
            kept[source] = compile_source(source)
        return kept[source]

    utils.env.from_string = from_string
    try:
        yield
    finally:
        del utils.env.from_string


@contextlib.contextmanager
def not_bulk() -> Iterator[None]:
    with promptpress_lm_eval.backend():
        bulk = Task.build_all_requests
        Task.build_all_requests = bulk.__wrapped__
        try:
            yield
        finally:
            Task.build_all_requests = bulk


COMPILES_ONCE = hasattr(Task, "from_config")
"""True from 0.5 on."""
BASE = "lm_eval" if COMPILES_ONCE else "compile cache"
WAYS: dict[str, Callable[[], Any]] = {"lm_eval": contextlib.nullcontext}
if not COMPILES_ONCE:
    WAYS |= {"compile cache": compile_cache, "backend, not bulk": not_bulk}
WAYS["backend"] = promptpress_lm_eval.backend


def task_of(config: dict[str, Any], splits: dict[str, Any]) -> Any:
    """A task of the harness; it keeps its requests, so each build needs one of its own."""
    make = getattr(ConfigurableTask, "from_config", ConfigurableTask)
    task = make(config={**copy.deepcopy(config), "custom_dataset": lambda **_: dict(splits)})
    task.set_fewshot_seed(1234)
    return task


def build(way: str, task: Any, limit: int) -> list[Any]:
    with WAYS[way]():
        task.build_all_requests(limit=limit)
    return task.instances


def rate(way: str, config: dict[str, Any], splits: dict[str, Any], limit: int) -> tuple[tuple[float, float], list[Any]]:
    task = task_of(config, splits)
    gc.collect()
    start, worked = time.perf_counter(), time.process_time()
    made = build(way, task, limit)
    return (limit / (time.perf_counter() - start), limit / (time.process_time() - worked)), made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=int, nargs="?", default=10_000)
    parser.add_argument("--stock-documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    test = documents(arguments.documents, 1)
    for name, config in TASKS.items():
        train = documents(5 if "fewshot_config" in config else 10_000, 2)
        rates: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(arguments.rounds):
            made = {}
            for way in WAYS:
                limit = arguments.documents if COMPILES_ONCE or way != "lm_eval" else arguments.stock_documents
                measurements, made[way] = rate(way, {"task": "bench", **config}, {"test": test, "train": train}, limit)
                rates[way].append(measurements)
            assert all(requests == made["backend"][: len(requests)] for requests in made.values())
            del made
        print(f"{name} ({arguments.documents:,} documents)")
        base = medians(rates[BASE])
        for way, measurements in rates.items():
            columns = [
                f"{ours:10,.0f} /s {ours / theirs:6.1f}x"
                for ours, theirs in zip(medians(measurements), base, strict=True)
            ]
            print(f"  {way:18}{columns[0]}  processor{columns[1]}")


def medians(measurements: list[tuple[float, float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*measurements, strict=True)]


if __name__ == "__main__":
    main()
