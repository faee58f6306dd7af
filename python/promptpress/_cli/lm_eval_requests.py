"""lm-evaluation-harness's requests as `verify` compares them, and promptpress's for the same task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import promptpress
from promptpress import lm_eval
from promptpress._cli.errors import ExitCode, in_options
from promptpress._file_errors import UsageError

from .outcome import Outcome, Refusal
from .verdict import Verdict, counted, judged

_ARGUMENTS = {
    "generate_until": ("context", "generation_kwargs"),
    "loglikelihood": ("context", "continuation"),
    "loglikelihood_rolling": ("text",),
}
_NOT_OF_REQUESTS = frozenset(
    {
        *("custom_dataset", "dataset_kwargs", "dataset_name", "dataset_path", "filter_list", "group", "include"),
        *("metadata", "process_docs", "process_results", "tag", "task_alias", "task_list"),
        *("should_decontaminate", "doc_to_decontamination_query"),
    }
)
"""What of a task's configuration says nothing of its requests, given the documents that `process_docs` returned."""


def outcome_of(request_type: str, documents: Iterable[Sequence[Sequence[Any]]]) -> Outcome:
    """Requests by document and choice, their arguments by name.

    Args:
        request_type: what kind they are of.
        documents: for each document, for each of its requests, the arguments.

    Returns:
        What `judged` compares.

    Example:
        >>> outcome_of("loglikelihood_rolling", [[("a text",)]]).rows
        [{None: {'text': 'a text'}}]

    """
    names = _ARGUMENTS.get(request_type, ())
    rows: list[dict[str | int | None, Any]] = []
    for requests in documents:
        named = [
            {names[at] if at < len(names) else str(at): one for at, one in enumerate(arguments)}
            for arguments in requests
        ]
        rows.append({None: named[0]} if len(named) == 1 else {str(at): one for at, one in enumerate(named)})
    return Outcome(rows)


def of_requests(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a task's configuration says something of its requests, given what `process_docs` returned.

    Args:
        config: the task's configuration.

    Returns:
        The rest.

    Example:
        >>> of_requests({"doc_to_text": "{{q}}", "metric_list": [], "dataset_path": "json"})
        {'doc_to_text': '{{q}}', 'metric_list': []}

    """
    kept = {key: value for key, value in config.items() if key not in _NOT_OF_REQUESTS}
    if isinstance(kept.get("fewshot_config"), Mapping):
        kept["fewshot_config"] = {k: v for k, v in kept["fewshot_config"].items() if k != "process_docs"}
    return kept


def our_outcome(
    config: Mapping[str, Any], docs: pa.Table, fewshot_docs: pa.Table | None, **options: Any
) -> Outcome | Verdict:
    """What promptpress makes of a task.

    Args:
        config: the task's configuration.
        docs: the evaluated documents.
        fewshot_docs: those that examples are drawn from.
        options: further arguments of `promptpress.lm_eval.requests`.

    Returns:
        The requests, or that the task isn't supported.

    Raises:
        UsageError: when examples are drawn, and there are no documents for them.

    Example:
        >>> config = {"test_split": "test", "output_type": "loglikelihood_rolling", "doc_to_target": "{{a}}"}
        >>> our_outcome({**config, "doc_to_text": ""}, pa.table({"a": ["x"]}), None).rows
        [{None: {'text': 'x'}}]

    """
    try:
        table = lm_eval.requests(of_requests(config), docs, fewshot_docs, **options)
    except promptpress.TemplateError as error:
        if error.code == "unsupported_class":
            return Verdict(ExitCode.UNSUPPORTED, str(error))
        if error.code == "missing_examples":
            raise UsageError(in_options(str(error))) from error
        return Outcome([], Refusal(None, error))
    except promptpress.RenderError as error:
        return Outcome([], Refusal(None, error))
    documents: dict[int, list[Any]] = {}
    for doc_id, arguments in zip(table["doc_id"].to_pylist(), table["arguments"].to_pylist(), strict=True):
        documents.setdefault(doc_id, []).append(arguments)
    return outcome_of(table["request_type"][0].as_py(), documents.values())


def compared(theirs: Outcome, ours: Outcome | Verdict, name: str, rows: int) -> Verdict:
    """Compare both sides.

    Args:
        theirs: the harness's requests.
        ours: promptpress's, or why there are none.
        name: where theirs come from.
        rows: how many documents there are.

    Returns:
        The verdict; where rows differ, with how many.

    Example:
        >>> one, other = (outcome_of("loglikelihood_rolling", [[(text,)], [("b",)]]) for text in "ab")
        >>> compared(one, other, "lm_eval", 2).details[-1]
        '  1 of 2 rows differs'

    """
    if isinstance(ours, Verdict):
        return ours
    verdict = judged(theirs, ours, name, rows)
    if verdict.code != ExitCode.DIFFERENT or theirs.refusal or ours.refusal:
        return verdict
    count = sum(one != other for one, other in zip(theirs.rows, ours.rows, strict=False))
    count += abs(len(theirs.rows) - len(ours.rows))
    told = f"  {count:,} of {counted(rows, 'row')} differ{'s' if count == 1 else ''}"
    return Verdict(verdict.code, verdict.found, (*verdict.details, told))
