"""Evaluates tasks with the backend off and on, with the lm-evaluation-harness that Python finds first.

A process of its own, because a process has one version: `python -m jinja_engines.lm_eval_versions` prints the
counts, and with a number those of so many tasks.
"""

from __future__ import annotations

import copy
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import lm_eval
import pytest
from jinja_engines.lm_eval_runs import datasets, equal, evaluated, reasons_of, task_of
from jinja_engines.test_lm_eval_backend import BASE, KINDS, LEFT, ROWS, RUNS
from lm_eval.api.task import ConfigurableTask

IS_NEW = hasattr(ConfigurableTask, "from_config")
"""True from 0.5 on, where a digit is the number of a choice for tasks without choices too, which few survive."""
SHOWN = [{**row, "a": str(row["a"]).replace("7", "seven")} for row in ROWS] if IS_NEW else ROWS
SPLITS = {"test": datasets.Dataset.from_list(SHOWN[:12]), "train": datasets.Dataset.from_list(SHOWN[8:])}
FORMATS = ("mcqa", "cloze", "generate", "cot")
VARIANTS: list[dict[str, Any]] = [
    {},
    {"target_delimiter": "\n", "fewshot_delimiter": "\n##\n"},
    {"description": "About {{n}}: {{q}}\n", "gen_prefix": "Well,"},
]


def tasks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Tasks of all kinds, and those with `formats`, which the harness refuses before 0.5."""
    kinds = {**KINDS, **{name: config for name, (config, _) in LEFT.items()}}
    for number, variant in enumerate(VARIANTS):
        for name, config in kinds.items():
            yield f"{name} {number}", {**config, **variant}
        for name in FORMATS:
            config = {**BASE, "doc_to_text": "q", "formats": name}
            yield f"{name} {number}", {**config, **variant}
            yield f"@{name} {number}", {**config, **variant, "formats": None, "task": f"own@{name}"}


def made(config: dict[str, Any]) -> Any:
    """A task, or from 0.5 on its configuration, which an evaluation makes a task of."""
    if not IS_NEW:
        return task_of(config, SPLITS)
    return [{**copy.deepcopy(config), "custom_dataset": lambda **_: dict(SPLITS)}]


def compared(limit: int | None = None) -> dict[str, Any]:
    """Evaluate the first tasks, or all, and return the counts; a difference is an AssertionError."""
    counts: Counter[str] = Counter()
    requests = 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        reasons = reasons_of(monkeypatch)
        for number, (name, config) in enumerate(islice(tasks(), limit)):
            options = dict(RUNS[number % len(RUNS)])
            if "samples" in options:
                options["samples"] = {config["task"]: [2, 3, 7]}
            options["log_samples"] = not IS_NEW or "samples" not in options
            reasons.clear()
            off, on = (evaluated(lambda config=config: made(config), on=on, **options) for on in (False, True))
            assert off.keys() == on.keys(), name
            for key in off:
                assert equal(off[key], on[key]), (name, key, off[key], on[key])
            counts["tasks"] += 1
            counts["both raise" if "error" in off else "same requests and results"] += 1
            if "error" not in off:
                counts["left to the harness" if reasons else "in bulk"] += 1
                requests += len(off["asked"])
    return {**counts, "requests": requests, "version": lm_eval.__version__, "file": lm_eval.__file__}


if __name__ == "__main__":
    print(json.dumps(compared(*map(int, sys.argv[1:]))))
