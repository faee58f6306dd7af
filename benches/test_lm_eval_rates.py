"""lm-evaluation-harness's requests: by itself, with templates compiled once, by the backend, and without it.

What is built of the MMLU-like task of `lm_eval_backend.py`; documents a second. `requests` is given what the harness's
data set holds, and makes a table.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("lm_eval.api.task")

import lm_eval_backend
import promptpress.lm_eval
from in_turns import ROUNDS, Way, replayed
from rounds import Replay

TASKS = {"first-five": "MMLU-like, first five of five", "drawn": "the same, five of 10,000 drawn"}
STOCK = "lm_eval"
NAMES = (STOCK, "compile cache", "backend", "requests")
CASES = [(task, name, Replay()) for task in TASKS for name in NAMES]
ways_of: dict[str, dict[str, Way]] = {}


def measured(task: str, count: int, few: int) -> dict[str, Way]:
    config = lm_eval_backend.TASKS[TASKS[task]]
    test = lm_eval_backend.documents(count, 1)
    train = lm_eval_backend.documents(5 if "fewshot_config" in config else 10_000, 2)
    tables = [data.data.table.combine_chunks() for data in (test, train)]
    ways = {name: Way(name, few if name == STOCK else count, lambda: None) for name in NAMES}
    for _ in range(ROUNDS):
        made: dict[str, list[Any]] = {}
        for name in NAMES[:-1]:
            (rate, _), made[name] = lm_eval_backend.rate(
                name, {"task": "bench", **config}, {"test": test, "train": train}, ways[name].rows
            )
            ways[name].seconds.append(ways[name].rows / rate)
        start = time.perf_counter()
        table = promptpress.lm_eval.requests({"task": "bench", **config}, *tables)
        ways["requests"].seconds.append(time.perf_counter() - start)
        assert made["compile cache"] == made["backend"]
        assert made["backend"][: len(made[STOCK])] == made[STOCK]
        ours = [(row["idx"], row["doc_id"], tuple(row["arguments"])) for row in table.to_pylist()]
        assert ours == [(instance.idx, instance.doc_id, instance.arguments) for instance in made["backend"]]
    return ways


@pytest.mark.parametrize(
    ("task", "name", "replay"),
    [
        pytest.param(
            *case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group=f"lm_eval-{case[0]}", timer=case[2])
        )
        for case in CASES
    ],
)
def test_lm_eval_rate(  # noqa: PLR0917 - fixtures
    task: str, name: str, replay: Replay, quick: bool, benchmark: Any, record_property: Any
) -> None:
    if task not in ways_of:
        ways_of[task] = measured(task, *((500, 30) if quick else (5_000, 150)))
    rate = replayed(ways_of[task][name], replay, benchmark, kind="lm_eval", workload=task)
    record_property("figure", f"{task:18} {'lm-eval: ' + name:20} {rate:14,.0f} documents/s")
