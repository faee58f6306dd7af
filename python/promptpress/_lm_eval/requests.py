"""All requests of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from promptpress._errors import template_error
from promptpress._input_checks import check_values, checked
from promptpress._lm_eval.arguments import arguments
from promptpress._lm_eval.chat_templates import ChatFunction
from promptpress._lm_eval.contexts import contexts
from promptpress._lm_eval.documents import Documents, ListedDocuments, TableDocuments
from promptpress._lm_eval.request_table import request_table
from promptpress._lm_eval.row_numbers import as_array
from promptpress._lm_eval.task import Task, chosen
from promptpress._lm_eval.task_config import TaskConfig
from promptpress._tables import as_table
from promptpress.typing import TableLike

__all__ = ["requests"]


def requests(
    task_config: Mapping[str, Any],
    docs: TableLike,
    fewshot_docs: TableLike | None = None,
    *,
    num_fewshot: int | None = None,
    seed: int | float | str | bytes | None = 1234,
    system_instruction: str | None = None,
    chat_template: ChatFunction | None = None,
    fewshot_as_multiturn: bool = False,
    limit: int | None = None,
    samples: Sequence[int] | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> pa.Table:
    r"""Make all requests of a task, as lm-evaluation-harness 0.4.13 would make them for a model.

    Neither the harness nor a model is needed. `table.to_pylist()` has the same texts and numbers in the same order as
    the harness's `task.instances` have them; few-shot documents are drawn by the harness's own random numbers.

    Args:
        task_config: The task's YAML as a dict, with what it includes. Functions (`!function`) are never called: what
            they return has to be a column of the documents, and what `process_docs` returns the documents themselves.
        docs: The documents of the split that is evaluated, in any form that `Renderer.render` takes.
        fewshot_docs: Those of the split that shots are drawn from, if that is another one, and the configuration
            doesn't list them itself.
        num_fewshot: Shots before each document; None: as the configuration says.
        seed: Of the random draws; None: another one each time.
        system_instruction: Stands before the description.
        chat_template: Makes a text of a list of messages (`role`, `content`) and `add_generation_prompt`, which is
            false where the last message is the beginning of the answer; None: plain text. A `promptpress.ChatTemplate`
            is applied as the harness's Hugging Face models apply theirs, whatever it says of the prompt's end.
        fewshot_as_multiturn: Whether each shot is two messages in a chat, and not a part of the user's one message.
        limit: Of how many documents requests are made at the most.
        samples: Only of these documents, by their numbers.
        rank: Which process this is, of several that share the documents.
        world_size: How many processes there are.

    Returns:
        One row a request: `request_type`; `arguments`, a tuple in Python; `idx`, the request's number among its
        document's (the choice); `doc_id`; `metadata`, the tuple of task, document and repeats. What several requests
        share, such as a context before several choices, is there once.

    Raises:
        TemplateError: If the configuration or an option is wrong, or holds what only the harness itself can do.
        RenderError: If a document is one at which the harness raises an exception, with the exception's name.

    >>> import pyarrow as pa
    >>> config = {
    ...     "task": "sums",
    ...     "output_type": "multiple_choice",
    ...     "test_split": "test",
    ...     "doc_to_text": "{{question.strip()}}\nAnswer:",
    ...     "doc_to_choice": ["2", "3"],
    ...     "doc_to_target": "answer",
    ... }
    >>> table = requests(config, pa.table({"question": ["1+1=? "], "answer": [0]}))
    >>> for request in table.to_pylist():
    ...     print(request["idx"], request["arguments"])
    0 ('1+1=?\nAnswer:', ' 2')
    1 ('1+1=?\nAnswer:', ' 3')

    """
    config = TaskConfig.of(task_config, num_fewshot)
    evaluated = TableDocuments(_table(docs), "row")
    task = Task(config, evaluated, _pool(config, evaluated, fewshot_docs) if config.num_fewshot else None)
    numbers, rows = chosen(len(evaluated), limit, samples, rank, world_size)
    documents = evaluated.take(rows)
    try:
        random = Random(seed)
        stop = len(rows[:limit])
    except TypeError as error:
        raise template_error("wrong_type", "seed or limit", f"TypeError: {error}") from error
    made = contexts(
        task,
        documents,
        random,
        system_instruction=system_instruction,
        chat_template=chat_template,
        as_turns=fewshot_as_multiturn,
    )
    own = arguments(task, documents, made, chat_template is not None)
    return request_table(config, as_array(numbers), own, stop)


def _table(documents: TableLike) -> pa.Table:
    """Return documents as a table whose values can be copied and compared."""
    table = checked(as_table(documents))
    check_values(table)
    return table


def _pool(config: TaskConfig, evaluated: TableDocuments, fewshot_docs: Any) -> Documents:
    """Return what shots are drawn from."""
    split = config.pool_split
    if split is None:
        return ListedDocuments(config.shots.samples, "few-shot document")
    if split == config.evaluated_split:
        return TableDocuments(evaluated.table, "few-shot document")
    if fewshot_docs is None:
        message = f"shots are drawn from the split {split!r}; give its documents"
        raise template_error("missing_examples", "fewshot_docs", message)
    return TableDocuments(_table(fewshot_docs), "few-shot document")
