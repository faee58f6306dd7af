"""Reads the files of a finished run of lm-evaluation-harness: a task's samples and the run's results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from promptpress import ConfigError, DataError, TemplateError
from promptpress.engine.errors import reason
from promptpress_harness.lm_eval.task import TaskConfig

from promptpress_workbench.cli.sources.lm_eval_tasks import task_and_date
from promptpress_workbench.cli.verify.lm_eval_requests import outcome_of, request_settings
from promptpress_workbench.cli.verify.outcome import Outcome

_FUNCTION = re.compile(r"\s*(@|def |lambda\b|<function |functools\.partial)")
_MAY_BE_FUNCTIONS = ("doc_to_text", "doc_to_target", "doc_to_choice", "samples")


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
