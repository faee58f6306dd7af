"""Few-shot documents as what stands before a question: messages, or in bulk one text each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._core import RenderError
from promptpress._lm_eval.columns import Column, Constant, Numbers, Texts, values
from promptpress._lm_eval.documents import Documents, TableDocuments
from promptpress._lm_eval.fields import Fields
from promptpress._lm_eval.row_numbers import as_sequence
from promptpress._lm_eval.task import Task
from promptpress._lm_eval.turns import Turn, question_and_answer

__all__ = [
    "DrawnShots",
    "PlainColumns",
    "ShotColumns",
    "drawn_shots",
    "plain_texts",
    "shot_columns",
    "shot_texts",
    "shot_turns",
]

_MOST = 0.5
"""From such a share of the pool on the fields of all of it are evaluated."""


PlainColumns: TypeAlias = tuple[pa.ChunkedArray, pa.ChunkedArray, bool]
"""Questions, answers, and whether an empty answer is none."""


@dataclass(frozen=True)
class ShotColumns:
    """The fields of few-shot documents."""

    documents: Documents
    text: Column
    choices: Column
    answer: Column
    prefix: Column

    @cached_property
    def plain(self) -> PlainColumns | None:
        """Texts and answers, where each document has both and nothing more, so that nothing can be wrong with one."""
        if not isinstance(self.text, Texts) or not isinstance(self.prefix, Constant) or self.prefix.value:
            return None
        answers = _answers(self)
        return None if answers is None else (self.text.array, answers, isinstance(self.answer, Texts))


@dataclass(frozen=True)
class DrawnShots:
    """Shots that are drawn for documents.

    Args:
        columns: The fields of few-shot documents.
        drawn: For each document, one after the other, which of them are drawn for it (int32).

    """

    columns: ShotColumns
    drawn: pa.Array


def drawn_shots(task: Task, drawn: pa.Array) -> DrawnShots:
    """Evaluate the fields of the few-shot documents that are drawn.

    Args:
        task: The task.
        drawn: Their rows in the pool, each as often as it is drawn.

    Returns:
        The fields, and where they go.

    Raises:
        RenderError: Where the harness raises at one of these documents.

    """
    assert task.pool is not None
    used = pc.unique(drawn)
    if isinstance(task.pool, TableDocuments) and len(used) >= _MOST * len(task.pool):
        # Faster than taking so many out of the pool.
        try:
            columns = shot_columns(task.fields, task.config, task.config.shots, task.pool)
        except RenderError:
            pass  # of a document that isn't drawn, perhaps
        else:
            if columns.plain is not None and not task.several_inputs:
                return DrawnShots(columns, drawn)
    used = used.take(pc.array_sort_indices(used))
    documents = task.pool.take(as_sequence(used.cast(pa.int64())))
    columns = shot_columns(task.fields, task.config, task.config.shots, documents)
    return DrawnShots(columns, pc.index_in(drawn, used))


def shot_columns(fields: Fields, config: Any, own: Any, documents: Documents) -> ShotColumns:
    """Evaluate the fields of few-shot documents.

    Args:
        fields: Reads them.
        config: The task's configuration, the harness's or the one here.
        own: What it says of few-shot documents alone.
        documents: The documents.

    Returns:
        The columns.

    Raises:
        RenderError: Where the harness raises.

    """
    return ShotColumns(
        documents,
        fields.text(config.doc_to_text if own.doc_to_text is None else own.doc_to_text, documents),
        fields.choices(own.doc_to_choice, documents) if own.doc_to_choice else Constant(None, len(documents)),
        fields.target(config.doc_to_target if own.doc_to_target is None else own.doc_to_target, documents),
        documents.resolved(own.gen_prefix),
    )


def shot_turns(task: Task, columns: ShotColumns) -> list[list[Turn]]:
    """Return each few-shot document's messages.

    Raises:
        RenderError: Where the harness raises.

    """
    own = task.config.shots
    delimiters = (own.target_delimiter, own.fewshot_delimiter)
    out = []
    rows = zip(*map(values, (columns.text, columns.choices, columns.answer, columns.prefix)), strict=True)
    for row, (text, choices, answer, prefix) in enumerate(rows):
        try:
            if task.several_inputs:
                out.append(question_and_answer(choices[text], None, answer, prefix, delimiters))
            else:
                out.append(question_and_answer(text, choices, answer, prefix, delimiters))
        except Exception as error:
            raise columns.documents.raised(error, row) from error
    return out


def shot_texts(task: Task, columns: ShotColumns) -> pa.Array | pa.ChunkedArray | None:
    """Return each few-shot document's plain text; None where only texts made one by one show what is wrong.

    Raises:
        RenderError: Where the harness raises.

    """
    own = task.config.shots
    if own.target_delimiter is None or own.fewshot_delimiter is None:
        return None
    if columns.plain is not None and not task.several_inputs:
        return plain_texts(columns.plain, own)
    texts = ["".join([text + behind for _, text, behind in turns]) for turns in shot_turns(task, columns)]
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return None


def plain_texts(columns: PlainColumns, own: Any) -> pa.ChunkedArray | None:
    """Return the plain texts of few-shot documents that are a question and an answer each.

    Args:
        columns: Questions and answers.
        own: What the configuration says of few-shot documents: it has the delimiters.

    Returns:
        The texts; None where a delimiter is none, so that only texts made one by one show whether it is used.

    """
    if own.target_delimiter is None or own.fewshot_delimiter is None:
        return None
    text, answer, may_lack = columns
    nothing, target, end = (
        pa.scalar(value, pa.large_string()) for value in ("", own.target_delimiter, own.fewshot_delimiter)
    )
    if may_lack:
        # Without an answer there is no delimiter; an answer that is the number of an empty choice is there.
        lacks = pc.equal(answer, "")
        target, end = (pc.if_else(lacks, nothing, delimiter) for delimiter in (target, end))
    return pc.binary_join_element_wise(text, target, answer, end, nothing)


def _answers(columns: ShotColumns) -> pa.ChunkedArray | None:
    """Return answers that are texts, or numbers of choices that are the same for all; None for others."""
    answer, choices = columns.answer, columns.choices
    if isinstance(answer, Texts):
        return answer.array
    if not isinstance(choices, Constant) or not isinstance(choices.value, list) or not choices.value:
        return None
    try:
        if isinstance(answer, Numbers):
            listed = pa.array(choices.value, pa.large_string())
            behind = pc.if_else(pc.less(answer.array, 0), len(listed), 0)
            return None if listed.null_count else pa.chunked_array([listed]).take(pc.add(answer.array, behind))
        if not isinstance(answer, list) or not set(map(type, answer)) <= {int, bool}:
            return None
        return pa.chunked_array([pa.array([choices.value[number] for number in answer], pa.large_string())])
    except (IndexError, TypeError, UnicodeEncodeError, pa.ArrowException):
        return None  # which document it is, and what the harness says, is found one by one
