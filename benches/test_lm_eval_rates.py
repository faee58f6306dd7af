"""lm-evaluation-harness's requests: by itself, with templates compiled once, by the backend, and without it.

What is built of the MMLU-like task of `lm_eval_backend.py`; a row is a document. `requests` is given what the harness's
data set holds, and makes a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import lm_eval_backend
import promptpress.lm_eval
import pytest
from in_turns import Sizes, Way, measured
from record import Record

DOCUMENTS = 5_000


def ways(config: dict[str, Any], sizes: Sizes) -> Iterator[Way]:
    count = sizes.ours(DOCUMENTS)
    test = lm_eval_backend.documents(count, 1)
    train = lm_eval_backend.documents(5 if "fewshot_config" in config else 10_000, 2)
    task = {"task": "bench", **config}
    instances: dict[str, list[Any]] = {}

    for name in ("lm_eval", "compile cache", "backend"):
        made: list[Any] = []

        def make(made: list[Any] = made) -> None:
            made[:] = [lm_eval_backend.task_of(task, {"test": test, "train": train})]

        def prepare(rows: int, name: str = name, make: Any = make, made: list[Any] = made) -> Callable[[], list[Any]]:
            make()
            return lambda: lm_eval_backend.build(name, made[0], rows)

        rows = count if name == "backend" else sizes.theirs(prepare, count)
        work = prepare(rows)
        instances[name] = work()
        yield Way(name, rows, work, role="ours" if name == "backend" else "peer", before=make)
    tables = [data.data.table.combine_chunks() for data in (test, train)]
    table = promptpress.lm_eval.requests(task, *tables)
    yield Way("requests", count, lambda: promptpress.lm_eval.requests(task, *tables), role="ours")
    assert all(made == instances["backend"][: len(made)] for made in instances.values())
    ours = [(row["idx"], row["doc_id"], tuple(row["arguments"])) for row in table.to_pylist()]
    assert ours == [(instance.idx, instance.doc_id, instance.arguments) for instance in instances["backend"]]


@pytest.mark.parametrize("name", ["MMLU-like, first five of five", "the same, five of 10,000 drawn"])
def test_lm_eval_rate(name: str, sizes: Sizes, record: Record) -> None:
    record("lm_eval", name, measured(ways(lm_eval_backend.TASKS[name], sizes)))
