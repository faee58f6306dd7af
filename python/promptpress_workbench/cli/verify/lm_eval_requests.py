"""Compares the requests of a task of lm-evaluation-harness with those that promptpress makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import lm_eval
from promptpress.engine.errors import UsageError, counted

from promptpress_workbench.cli.shell.errors import ExitCode
from promptpress_workbench.cli.shell.option_words import in_options
from promptpress_workbench.cli.verify.outcome import Outcome, Refusal, RowRequests
from promptpress_workbench.cli.verify.verdict import Verdict, judge

_ARGUMENTS = {
    "generate_until": ("context", "generation_kwargs"),
    "loglikelihood": ("context", "continuation"),
    "loglikelihood_rolling": ("text",),
}
_KEYS_WITHOUT_EFFECT = frozenset(
    {
        *("custom_dataset", "dataset_kwargs", "dataset_name", "dataset_path", "filter_list", "group", "include"),
        *("metadata", "process_docs", "process_results", "tag", "task_alias", "task_list"),
        *("should_decontaminate", "doc_to_decontamination_query"),
    }
)
"""Keys of a task's configuration that don't affect its requests, if `process_docs` has already run."""


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
