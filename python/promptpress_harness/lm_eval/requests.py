"""The public function that makes all requests of a task."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine import as_table
from promptpress.engine.errors import callers_level, template_error
from promptpress.engine.tables import OF_HARNESS, check_values, checked, with_exact_types
from promptpress.typing import TableLike

from promptpress_harness.lm_eval.arguments import build_arguments
from promptpress_harness.lm_eval.chat_contexts import ChatFunction
from promptpress_harness.lm_eval.contexts import build_contexts
from promptpress_harness.lm_eval.documents import Documents, ListedDocuments, TableDocuments
from promptpress_harness.lm_eval.request_table import request_table
from promptpress_harness.lm_eval.row_numbers import as_array
from promptpress_harness.lm_eval.task import Task, choose_documents
from promptpress_harness.lm_eval.task_config import TaskConfig

_JINJA = re.compile(r"\{[{%#]")
_IN_BRACES = re.compile(r"\{([^{}]+)\}")


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
    the harness's `task.instances`. The harness's own random numbers draw the few-shot documents.

    A task with a format, under `formats` or as `TASK@FORMAT`, is made by the rules of 0.5, which brings formats.

    Args:
        task_config: The task's YAML as a dict, with its includes merged. Functions (`!function`) are never called: put
            what they return into a column of the documents, and pass the documents that `process_docs` returns.
        docs: The documents of the evaluated split, in any form that `Renderer.render` takes.
        fewshot_docs: The documents of the split that shots are drawn from, if it is another split and the
            configuration doesn't list its documents.
        num_fewshot: Number of shots for each document; None for the configured number.
        seed: Seed of the random draws; None for a different one in each call.
        system_instruction: A text before the description.
        chat_template: Makes a text of a list of messages (`role`, `content`) and `add_generation_prompt`, which is
            false if the last message is the beginning of the answer; None for plain text. A `promptpress.ChatTemplate`
            is applied as the harness's Hugging Face models apply theirs, whatever its settings for the prompt's end.
        fewshot_as_multiturn: Whether each shot is two messages in a chat, instead of a part of the user's one message.
        limit: The largest number of documents to make requests of.
        samples: Numbers of the documents to use; None for all.
        rank: Number of this process among those that share the documents.
        world_size: Number of processes that share the documents.

    Returns:
        One row for each request: `request_type`; `arguments`, a tuple in Python; `idx`, the number of the request among
        its document's requests (the choice); `doc_id`; `metadata`, the tuple of task, document and repeats. A value
        that requests share, such as a context before several choices, is stored once.

    Raises:
        TemplateError: If the configuration or an option is wrong, or needs the harness itself.
        RenderError: If the harness raises an exception at a document; the message has the exception's name.

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
    _warn_of_single_braces(config.doc_to_text, evaluated.names)
    numbers, rows = choose_documents(
        len(evaluated), limit, samples, rank, world_size, numbers_are_rows=config.by_format
    )
    documents = evaluated.take(rows)
    try:
        random = Random(seed)
        stop = len(rows[:limit])
    except TypeError as error:
        raise template_error("wrong_type", "seed or limit", f"TypeError: {error}") from error
    contexts = build_contexts(
        task,
        documents,
        random,
        system_instruction=system_instruction,
        chat_template=chat_template,
        as_turns=fewshot_as_multiturn,
    )
    arguments = build_arguments(task, documents, contexts, chat_template is not None)
    return request_table(config, as_array(numbers), arguments, stop)


def _warn_of_single_braces(text: Any, columns: Collection[str]) -> None:
    """Warn of a `doc_to_text` that names columns as `str.format` would, so that Jinja puts nothing in."""
    if not isinstance(text, str) or text in columns or _JINJA.search(text):
        return
    name = next((name for name in _IN_BRACES.findall(text) if name in columns), None)
    if name is not None:
        message = (
            f"doc_to_text: '{{{name}}}' has single braces, which are text in Jinja, so every document gets the same "
            f"text; '{{{{{name}}}}}' is the document's"
        )
        warnings.warn(message, PromptWarning, stacklevel=callers_level())


def _table(documents: TableLike) -> pa.Table:
    """Return documents as a table whose values can be copied and compared."""
    table = with_exact_types(checked(as_table(documents, OF_HARNESS)))
    check_values(table)
    return table


def _pool(config: TaskConfig, evaluated: TableDocuments, fewshot_docs: Any) -> Documents:
    """Return the documents that shots are drawn from."""
    split = config.pool_split
    if split is None:
        return ListedDocuments(config.fewshot.samples, "few-shot document")
    if split == config.evaluated_split:
        return TableDocuments(evaluated.table, "few-shot document")
    if fewshot_docs is None:
        message = f"shots are drawn from the split {split!r}; give its documents"
        raise template_error("missing_examples", "fewshot_docs", message)
    return TableDocuments(_table(fewshot_docs), "few-shot document")
