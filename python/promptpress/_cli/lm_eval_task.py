"""A task of lm-evaluation-harness, built by the harness as it is installed."""

from __future__ import annotations

import copy
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import groupby
from typing import Any

import pyarrow as pa

from promptpress._file_errors import ConfigError, DataError, UsageError, reason
from promptpress.lm_eval import disable

from .harness_pipeline import silence
from .lm_eval_requests import outcome_of
from .outcome import Outcome, Refusal

_SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
SEED = 1234
"""The harness's own seed for examples."""


def load_harness() -> str:
    """Import the harness.

    Returns:
        Its name and version.

    Raises:
        ConfigError: when it isn't installed, or lacks what it imports.

    """
    if importlib.util.find_spec("lm_eval") is None:
        raise ConfigError("verify compares with lm_eval, which isn't installed: pip install lm_eval")
    try:
        with silence():
            importlib.import_module("lm_eval.tasks")
            importlib.import_module("lm_eval.tasks._yaml_loader")
        disable()  # PROMPTPRESS_BACKEND may have switched it on, and theirs are to be compared
    except ImportError as error:
        raise ConfigError(f"lm_eval can't be imported: {reason(error)}") from error
    return f"lm_eval {version('lm_eval')}"


class HarnessTask:
    """A task's YAML, as the harness reads it.

    Args:
        path: the file.
        num_fewshot: how many examples, where it isn't as the file says.

    Raises:
        ConfigError: when the harness doesn't read it, or it isn't one task.

    """

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

    def load(self, docs: pa.Table | None, fewshot_docs: pa.Table | None, limit: int | None) -> None:
        """Have the harness make the task.

        Args:
            docs: what is evaluated; None: what the file names, as the harness loads it.
            fewshot_docs: with it, the rows of all other splits.
            limit: how many documents.

        Raises:
            DataError: when its dataset can't be loaded.

        """
        config = copy.deepcopy(self.config)
        if docs is not None:
            splits = self._splits(docs, fewshot_docs)
            config["custom_dataset"] = lambda **_: dict(splits)
        self._limit = limit
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
        config = self.config
        dataset = importlib.import_module("datasets").Dataset
        shots = config.get("fewshot_config")
        names = [config.get(name) for name in _SPLITS] + [shots.get("split") if isinstance(shots, Mapping) else None]
        evaluated = config.get("test_split") or config.get("validation_split")
        others = {name for name in names if name} - {evaluated}
        if others and fewshot_docs is None and config.get("num_fewshot"):
            raise UsageError("--examples: examples are drawn, and beside --data none are given")
        made = {name: dataset(docs if fewshot_docs is None else fewshot_docs) for name in others}
        return {**made, evaluated: dataset(docs)} if evaluated else made

    @property
    def docs(self) -> pa.Table:
        """The evaluated documents, as `process_docs` gave them."""
        return _table(self._task.task_docs)

    @property
    def fewshot_docs(self) -> pa.Table | None:
        """The documents that examples are drawn from; None where the configuration lists them."""
        with silence():
            found = self._task.fewshot_docs()
        return _table(found) if hasattr(found, "with_format") else None

    def outcome(self) -> Outcome:
        """The harness's requests, all of them or why there are none."""
        try:
            with silence():
                self._task.build_all_requests(limit=self._limit)
        except Exception as error:
            return Outcome([], Refusal(None, error))
        instances = self._task.instances
        return outcome_of(instances[0].request_type, _by_document(instances))


def _table(dataset: Any) -> pa.Table:
    found: pa.Table = dataset.with_format("arrow")[:]
    return found


def _by_document(instances: list[Any]) -> Iterator[list[Any]]:
    for _, group in groupby(instances, lambda one: one.doc_id):
        yield [one.arguments for one in group]
