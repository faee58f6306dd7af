"""Tasks of lm-evaluation-harness, built by the installed harness."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any

import pyarrow as pa
from promptpress import ConfigError, DataError
from promptpress.engine.errors import UsageError, reason
from promptpress.lm_eval import disable

from promptpress_workbench.cli.verify.harness_pipeline import import_harness, silence
from promptpress_workbench.cli.verify.lm_eval_requests import outcome_of
from promptpress_workbench.cli.verify.outcome import Outcome, Refusal

_SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
SEED = 1234
"""The harness's default seed for examples."""


def load_harness() -> str:
    """Import the harness, and return its name and version."""
    name = import_harness("lm_eval", "lm_eval", ("lm_eval.tasks", "lm_eval.tasks._yaml_loader"))
    disable()  # PROMPTPRESS_BACKEND may have enabled the backend, and the harness's own requests are needed
    if hasattr(importlib.import_module("lm_eval.api.task").ConfigurableTask, "from_config"):
        raise ConfigError(f"verify compares with lm_eval 0.4, and {name} is installed")
    return name


class HarnessTask:
    """A task of a YAML file, read and built by the harness."""

    def __init__(self, path: str, num_fewshot: int | None = None) -> None:
        loader = importlib.import_module("lm_eval.tasks._yaml_loader")
        try:
            with silence():
                self.config: dict[str, Any] = loader.load_yaml(path, resolve_func=True)
        except Exception as error:
            raise ConfigError(f"{path}: lm_eval doesn't read it: {type(error).__name__}: {reason(error)}") from error
        if not isinstance(self.config.get("task"), str) or "class" in self.config:
            raise ConfigError(f"{path}: verify takes the YAML of one task that is no class")
        if num_fewshot is not None:
            self.config["num_fewshot"] = num_fewshot
        self._path = path
        self._task: Any = None

    def load(self, docs: pa.Table | None, fewshot_docs: pa.Table | None) -> None:
        """Have the harness build the task, with its own documents or with those of tables."""
        config = copy.deepcopy(self.config)
        if docs is not None:
            splits = self._splits(docs, fewshot_docs)
            config["custom_dataset"] = lambda **_: dict(splits)
        module = importlib.import_module("lm_eval.api.task")
        try:
            with silence():
                self._task = module.ConfigurableTask(config=config)
                self._task.set_fewshot_seed(SEED)
        except Exception as error:
            raise DataError(
                f"{self._path}: lm_eval can't make the task: {type(error).__name__}: {reason(error)}"
            ) from error

    def _splits(self, docs: pa.Table, fewshot_docs: pa.Table | None) -> dict[str, Any]:
        dataset = importlib.import_module("datasets").Dataset
        shots = self.config.get("fewshot_config")
        names = [*map(self.config.get, _SPLITS), shots.get("split") if isinstance(shots, Mapping) else None]
        evaluated = self.config.get("test_split") or self.config.get("validation_split")
        others = {name for name in names if name} - {evaluated}
        if others and fewshot_docs is None and self.config.get("num_fewshot"):
            raise UsageError("--examples: examples are drawn, and with --data none are given")
        splits = {name: dataset(docs if fewshot_docs is None else fewshot_docs) for name in others}
        return {**splits, evaluated: dataset(docs)} if evaluated else splits

    @property
    def docs(self) -> pa.Table:
        """The evaluated documents after `process_docs`."""
        return _table(self._task.task_docs)

    @property
    def fewshot_docs(self) -> pa.Table | None:
        """The documents that examples are drawn from; None if the configuration lists the examples."""
        with silence():
            docs = self._task.fewshot_docs()
        return _table(docs) if hasattr(docs, "with_format") else None

    def outcome(self, limit: int | None) -> Outcome:
        """Return the harness's requests for the first documents, or its refusal to make them."""
        try:
            with silence():
                self._task.build_all_requests(limit=limit)
        except Exception as error:
            return Outcome([], Refusal(None, error))
        instances = self._task.instances
        documents = groupby(instances, key=attrgetter("doc_id"))
        return outcome_of(
            instances[0].request_type, ([instance.arguments for instance in group] for _, group in documents)
        )


def _table(dataset: Any) -> pa.Table:
    table: pa.Table = dataset.with_format("arrow")[:]
    return table
