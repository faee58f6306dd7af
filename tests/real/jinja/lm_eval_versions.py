"""Evaluates tasks with the backend off and on, with the lm-evaluation-harness that Python finds first.

A process of its own, because a process has one version: `python -m real.jinja.lm_eval_versions all` prints
the counts; with a number, those of so many tasks, and with `shipped` those of tasks that the harness ships.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import lm_eval
import pytest
import real.jinja.test_lm_eval_backend_shipped as recorded
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager
from real.jinja.lm_eval_runs import datasets, equal, evaluated, quiet, reasons_of
from real.jinja.test_lm_eval_backend import BASE, KINDS, LEFT, ROWS, RUNS

IS_NEW = hasattr(ConfigurableTask, "from_config")
"""True from 0.5 on, where a digit is the number of a choice for tasks without choices too, which few survive."""
EDITED = [{**row, "a": str(row["a"]).replace("7", "seven")} for row in ROWS] if IS_NEW else ROWS
SPLITS = {"test": datasets.Dataset.from_list(EDITED[:12]), "train": datasets.Dataset.from_list(EDITED[8:])}
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


def shipped_tasks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Tasks that the harness ships, by their own YAML, over the documents that are recorded beside the project."""
    manager = TaskManager()
    for case in recorded.shipped():
        name = case["config"]["task"]
        try:
            entry = manager._entry(name) if IS_NEW else manager.task_index[name]
            config = manager._factory._load_full_config(entry)
        except (Exception, SystemExit):
            # Its functions need what isn't here, or the task is gone; what is recorded has no functions.
            config = recorded.tool().decode(case["config"])
        splits = recorded.splits_of(case, config)
        if case.get("note"):
            # The documents are those that its function gave.
            config.pop("process_docs", None)
            if isinstance(config.get("fewshot_config"), dict):
                config["fewshot_config"].pop("process_docs", None)
        # Metrics and filters may be of packages that aren't here, and have no effect on requests.
        dropped = ("metric_list", "filter_list", "process_results", "dataset_kwargs", "tag", "task_list")
        config = {key: value for key, value in config.items() if value is not None and key not in dropped}
        yield case["id"], {**config, "custom_dataset": lambda splits=splits, **_: dict(splits)}


def made(config: dict[str, Any]) -> Any:
    """A task, or from 0.5 on its configuration, which an evaluation makes a task of."""
    copied = {key: value if callable(value) else copy.deepcopy(value) for key, value in config.items()}
    copied.setdefault("custom_dataset", lambda **_: dict(SPLITS))
    if IS_NEW:
        return [copied]
    with quiet():
        return ConfigurableTask(config=copied)


def compared(chosen: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Evaluate tasks and return the counts; a difference is an AssertionError."""
    counts: Counter[str] = Counter()
    requests = 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        reasons = reasons_of(monkeypatch)
        for number, (name, config) in enumerate(chosen):
            options = {**RUNS[number % len(RUNS)], "confirm_run_unsafe_code": True}
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
    warnings.simplefilter("ignore")
    choice = sys.argv[1]
    chosen = shipped_tasks() if choice == "shipped" else islice(tasks(), None if choice == "all" else int(choice))
    print(json.dumps(compared(chosen)))
