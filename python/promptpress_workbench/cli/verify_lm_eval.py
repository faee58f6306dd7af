"""`promptpress verify` for lm-evaluation-harness: for a task's YAML, or for the samples of a finished run."""

from __future__ import annotations

import copy
import importlib
import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError, DataError, TemplateError, lm_eval
from promptpress.engine.errors import UsageError, counted, reason
from promptpress.lm_eval import disable
from promptpress_harness.lm_eval.task import TaskConfig

from promptpress_workbench.cli.errors import ExitCode, in_options
from promptpress_workbench.cli.lm_eval_tasks import is_samples, task_and_date
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.verify_harness import import_harness, silence
from promptpress_workbench.cli.verify_outcomes import Outcome, Refusal, RowRequests, Verdict, judge
from promptpress_workbench.files.read.samples import Samples, example_rows

_FUNCTION = re.compile(r"\s*(@|def |lambda\b|<function |functools\.partial)")
_MAY_BE_FUNCTIONS = ("doc_to_text", "doc_to_target", "doc_to_choice", "samples")

_SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
_SEED = 1234  # the harness's default seed for examples

_ARGUMENTS = {
    "generate_until": ("context", "generation_kwargs"),
    "loglikelihood": ("context", "continuation"),
    "loglikelihood_rolling": ("text",),
}
_KEYS_WITHOUT_EFFECT = (
    *("custom_dataset", "dataset_kwargs", "dataset_name", "dataset_path", "filter_list", "group", "include"),
    *("metadata", "process_docs", "process_results", "tag", "task_alias", "task_list"),
    *("should_decontaminate", "doc_to_decontamination_query"),
)
"""Keys of a task's configuration that don't affect its requests, if `process_docs` has already run."""


@dataclass(frozen=True)
class FinishedRun:
    """A task of a finished run: its configuration, documents and requests."""

    config: dict[str, Any]
    docs: pa.Table
    recorded: Outcome
    doc_ids: list[int]
    split_rows: int | None
    """The number of documents of the evaluated split, which may be more than `docs`; None if it isn't recorded."""
    options: dict[str, Any]

    @property
    def draws_from_evaluated_split(self) -> bool:
        """True if examples were drawn from the documents that are evaluated."""
        try:
            task = TaskConfig.of(request_settings(self.config))
        except TemplateError:
            return False  # the same error is reported when the requests are made
        return bool(task.num_fewshot) and task.pool_split == task.evaluated_split


def finished_run(path: str, limit: int | None = None) -> FinishedRun:
    """Read the samples of a task, and the run's results in the same folder."""
    task, date = task_and_date(path)
    samples = _samples(path)
    results = _results(Path(path).with_name(f"results_{date}.json"))
    config = _lookup(results, "configs", task)
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: the run's results say nothing of the task {task}")
    request_type = config.get("output_type", "generate_until")
    kind = "loglikelihood" if request_type == "multiple_choice" else request_type
    try:
        rows = samples[:limit]
        recorded = outcome_of(kind, [[list(args.values()) for args in row["arguments"].values()] for row in rows])
        docs = pa.Table.from_pylist([row["doc"] for row in samples])
        doc_ids = [int(row.get("doc_id", index)) for index, row in enumerate(rows)]
    except (AttributeError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path}: these aren't a run's samples: {type(error).__name__}: {reason(error)}") from error
    split_rows = _lookup(results, "n-samples", task, "original")
    options = {
        "num_fewshot": config.get("num_fewshot"),
        "seed": _lookup(results, "config", "fewshot_seed"),
        "system_instruction": results.get("system_instruction"),
        "chat_template": _chat_template(results),
        "fewshot_as_multiturn": bool(results.get("fewshot_as_multiturn")),
    }
    if not isinstance(split_rows, int):
        split_rows = None
    return FinishedRun(_with_functions(config), docs, recorded, doc_ids, split_rows, options)


def _lookup(value: Any, *keys: str) -> Any:
    """Return a value of nested dicts; None if a key is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _samples(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            rows = [row for row in map(json.loads, file) if isinstance(row, dict)]
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {reason(error)}") from error
    if not rows:
        raise DataError(f"{path}: there are no samples")
    # Each filter writes all samples again.
    return [row for row in rows if row.get("filter") == rows[0].get("filter")]


def _results(path: Path) -> dict[str, Any]:
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: the run's results can't be read: {reason(error)}") from error
    if not isinstance(results, dict):
        raise ConfigError(f"{path}: these aren't a run's results")
    return results


def _with_functions(config: dict[str, Any]) -> dict[str, Any]:
    """Replace functions, which a run records as their source, by a function that can't be called."""
    result = dict(config)
    for key, value in config.items():
        if key in _MAY_BE_FUNCTIONS and isinstance(value, str) and _FUNCTION.match(value):
            result[key] = _lost_function
        elif key == "fewshot_config" and isinstance(value, dict):
            result[key] = _with_functions(value)
    return result


def _lost_function(doc: Any) -> Any:
    raise NotImplementedError(f"a function of the run, asked for {doc!r}")


def _chat_template(results: Mapping[str, Any]) -> Callable[..., str] | None:
    """Return a function that renders messages as the run's tokenizer did; None if the run had no chat template."""
    source = results.get("chat_template")
    if not isinstance(source, str) or not source:
        return None
    from jinja2 import TemplateError  # noqa: PLC0415 - for chats only
    from promptpress.engine.templates import Reference  # noqa: PLC0415 - needs Jinja2

    try:
        template = Reference(source, "transformers")
    except Exception as error:
        raise ConfigError(f"the run's chat template: {reason(error)}") from error
    tokens = {f"{name}_token": _token(results.get(f"tokenizer_{name}_token")) for name in ("bos", "eos", "pad")}

    def render(messages: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        names = {**tokens, "add_generation_prompt": add_generation_prompt, "tools": None, "documents": None}
        try:
            text: str = template.render({**names, "messages": messages})
        except TemplateError:
            # The harness's models leave out system messages if a template refuses them.
            text = template.render({**names, "messages": [item for item in messages if item["role"] != "system"]})
        return text if add_generation_prompt else _continued(text, messages[-1]["content"])

    return render


def _continued(text: str, content: str) -> str:
    """Cut a chat after the content of its last message, with the white space that the template keeps of it."""
    stripped = content.strip()
    start, kept = text.rindex(stripped), content.lstrip()
    return text[: start + len(kept if text.startswith(kept, start) else stripped)]


def _token(value: Any) -> str:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""


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
                self._task.set_fewshot_seed(_SEED)
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


def outcome_of(request_type: str, documents: Iterable[Sequence[Sequence[Any]]]) -> Outcome:
    """Return the requests of each document by choice, and the arguments of each request by name."""
    names = _ARGUMENTS.get(request_type, ())
    rows: list[RowRequests] = []
    for requests in documents:
        named = [
            {names[index] if index < len(names) else str(index): value for index, value in enumerate(arguments)}
            for arguments in requests
        ]
        rows.append({None: named[0]} if len(named) == 1 else {str(index): item for index, item in enumerate(named)})
    return Outcome(rows)


def request_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a task's configuration that affects its requests, if `process_docs` has already run."""
    settings = {key: value for key, value in config.items() if key not in _KEYS_WITHOUT_EFFECT}
    shots = settings.get("fewshot_config")
    if isinstance(shots, Mapping):
        settings["fewshot_config"] = {key: value for key, value in shots.items() if key != "process_docs"}
    return settings


def render_task(
    config: Mapping[str, Any], docs: pa.Table, fewshot_docs: pa.Table | None, **options: Any
) -> Outcome | Verdict:
    """Make a task's requests with promptpress; the verdict is returned at once if the task isn't supported."""
    try:
        table = lm_eval.requests(request_settings(config), docs, fewshot_docs, **options)
    except (promptpress.TemplateError, promptpress.RenderError) as error:
        if isinstance(error, promptpress.TemplateError):
            if error.code == "unsupported_class":
                return Verdict(ExitCode.UNSUPPORTED, str(error))
            if error.code == "missing_examples":
                raise UsageError(in_options(str(error))) from error
        return Outcome([], Refusal(None, error))
    documents: dict[int, list[Any]] = {}
    for doc_id, arguments in zip(table["doc_id"].to_pylist(), table["arguments"].to_pylist(), strict=True):
        documents.setdefault(doc_id, []).append(arguments)
    return outcome_of(table["request_type"][0].as_py(), documents.values())


def judge_task(theirs: Outcome, ours: Outcome | Verdict, name: str, rows: int) -> Verdict:
    """Compare the outcomes of both sides as `judge` does, and count the rows that differ."""
    if isinstance(ours, Verdict):
        return ours
    verdict = judge(theirs, ours, name, rows)
    if verdict.code != ExitCode.DIFFERENT or theirs.refusal or ours.refusal:
        return verdict
    count = sum(left != right for left, right in zip(theirs.rows, ours.rows, strict=False))
    count += abs(len(theirs.rows) - len(ours.rows))
    detail = f"  {count:,} of {counted(rows, 'row')} differ{'s' if count == 1 else ''}"
    return replace(verdict, details=(*verdict.details, detail))


def lm_eval_verdict(settings: Settings, arguments: Namespace) -> Verdict:
    """Compare the requests of the task or run that the command line names."""
    if arguments.backend:
        raise UsageError("--backend: the log of a run says which tasks of lm-evaluation-harness are built in bulk")
    compare = _run_verdict if is_samples(str(settings.config)) else _task_verdict
    return compare(settings)


def _task_verdict(settings: Settings) -> Verdict:
    name = load_harness()
    task = HarnessTask(str(settings.config), settings.shots)
    samples = Samples(settings.data, settings.format, harness_types="all") if settings.data else None
    docs = None if samples is None else samples.table()
    task.load(docs, example_rows(settings.examples or (), settings.format, harness_types="all"))
    theirs = task.outcome(settings.limit)
    ours = render_task(task.config, task.docs, task.fewshot_docs, seed=_SEED, limit=settings.limit)
    return judge_task(theirs, ours, name, len(theirs.rows) or task.docs.num_rows)


def _run_verdict(settings: Settings) -> Verdict:
    if settings.shots is not None:
        raise UsageError("--shots: the run's results say how many examples there are")
    if settings.data:
        raise UsageError("--data: a run's samples have their documents with them")
    run = finished_run(str(settings.config), settings.limit)
    examples = example_rows(settings.examples or (), settings.format, harness_types="all")
    if run.draws_from_evaluated_split:
        ours = render_task(run.config, _evaluated_split(run, examples), None, samples=run.doc_ids, **run.options)
    else:
        ours = render_task(run.config, run.docs.slice(0, len(run.doc_ids)), examples, **run.options)
    return judge_task(run.recorded, ours, "the run", len(run.doc_ids))


def _evaluated_split(run: FinishedRun, examples: pa.Table | None) -> pa.Table:
    """Return all documents of the evaluated split: the run's own, or the examples if the run has only seen some."""
    if run.split_rows in (None, run.docs.num_rows):
        return run.docs
    rows = 0 if examples is None else examples.num_rows
    if examples is None or rows != run.split_rows:
        raise UsageError(
            f"--examples: shots are drawn from all {run.split_rows:,} documents of the split that is evaluated, of"
            f" which the samples hold {run.docs.num_rows:,}; give all of them, not {rows:,}"
        )
    return examples
