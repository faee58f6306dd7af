"""All requests of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from promptpress._errors import template_error
from promptpress._lm_eval.arguments import arguments
from promptpress._lm_eval.contexts import ChatTemplate, contexts
from promptpress._lm_eval.documents import Documents, ListedDocuments, TableDocuments
from promptpress._lm_eval.request_table import request_table
from promptpress._lm_eval.task import Task, chosen
from promptpress._lm_eval.task_config import TaskConfig
from promptpress._tables import as_table

__all__ = ["requests"]


def requests(
    task_config: Mapping[str, Any],
    docs: Any,
    fewshot_docs: Any = None,
    *,
    num_fewshot: int | None = None,
    seed: Any = 1234,
    system_instruction: str | None = None,
    chat_template: ChatTemplate | None = None,
    fewshot_as_multiturn: bool = False,
    limit: int | None = None,
    samples: Sequence[int] | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> pa.Table:
    config = TaskConfig.of(task_config, num_fewshot)
    evaluated = TableDocuments(as_table(docs), "row")
    pool: Documents | None = None
    if config.num_fewshot:
        pool = _pool(config, evaluated, fewshot_docs)
    task = Task(config, evaluated, pool)
    numbers, rows = chosen(len(evaluated), limit, samples, rank, world_size)
    documents = evaluated.take(rows)
    try:
        random = Random(seed)
    except TypeError as error:
        raise template_error("wrong_type", "seed", f"TypeError: {error}") from error
    made = contexts(
        task,
        documents,
        random,
        system_instruction=system_instruction,
        chat_template=chat_template,
        as_turns=fewshot_as_multiturn,
    )
    own = arguments(task, documents, made, chat_template is not None)
    try:
        stop = len(rows[:limit])
    except TypeError as error:
        raise template_error("wrong_type", "limit", f"TypeError: {error}") from error
    return request_table(config, pa.array(numbers, pa.int64()), own, stop)


def _pool(config: TaskConfig, evaluated: TableDocuments, fewshot_docs: Any) -> Documents:
    split = config.pool_split
    if split is None:
        return ListedDocuments(config.shots.samples, "few-shot document")
    if split == config.evaluated_split:
        return TableDocuments(evaluated.table, "few-shot document")
    if fewshot_docs is None:
        message = f"shots are drawn from the split {split!r}; give its documents"
        raise template_error("missing_examples", "fewshot_docs", message)
    return TableDocuments(as_table(fewshot_docs), "few-shot document")
