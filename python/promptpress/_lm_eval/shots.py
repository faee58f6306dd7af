"""Few-shot documents as what stands before a question: messages, or in bulk one text each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._lm_eval.columns import Column, Constant, Texts, values
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.task import Task
from promptpress._lm_eval.turns import Turn, question_and_answer

__all__ = ["ShotColumns", "shot_columns", "shot_texts", "shot_turns"]


@dataclass(frozen=True)
class ShotColumns:
    """The fields of few-shot documents."""

    documents: Documents
    text: Column
    choices: Column
    answer: Column
    prefix: Column


def shot_columns(task: Task, rows: Sequence[int]) -> ShotColumns:
    """Evaluate the fields of few-shot documents.

    Args:
        task: The task.
        rows: Their rows in the pool.

    Returns:
        The columns.

    Raises:
        RenderError: Where the harness raises.

    """
    assert task.pool is not None
    documents, own, fields = task.pool.take(rows), task.config.shots, task.fields
    return ShotColumns(
        documents,
        fields.text(task.config.doc_to_text if own.doc_to_text is None else own.doc_to_text, documents),
        fields.choices(own.doc_to_choice, documents) if own.doc_to_choice else Constant(None, len(rows)),
        fields.target(task.config.doc_to_target if own.doc_to_target is None else own.doc_to_target, documents),
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
    """Return each few-shot document's plain text; None where one has half of a surrogate pair.

    Raises:
        RenderError: Where the harness raises.

    """
    own = task.config.shots
    question, answer = columns.text, _answers(columns)
    no_prefix = isinstance(columns.prefix, Constant) and not columns.prefix.value
    if isinstance(question, Texts) and answer is not None and no_prefix and not task.several_inputs:
        empty = pc.equal(answer, "")
        nothing = pa.scalar("", pa.large_string())
        target = pc.if_else(empty, nothing, pa.scalar(own.target_delimiter, pa.large_string()))
        end = pc.if_else(empty, nothing, pa.scalar(own.fewshot_delimiter, pa.large_string()))
        return pc.binary_join_element_wise(question.array, target, answer, end, nothing)
    texts = ["".join([text + behind for _, text, behind in turns]) for turns in shot_turns(task, columns)]
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return None


def _answers(columns: ShotColumns) -> pa.ChunkedArray | None:
    """Return answers that are texts, or numbers of choices that are the same for all; None for others."""
    answer, choices = columns.answer, columns.choices
    if isinstance(answer, Texts):
        return answer.array
    if not isinstance(answer, list) or not isinstance(choices, Constant) or not isinstance(choices.value, list):
        return None
    if not choices.value or not set(map(type, answer)) <= {int, bool}:
        return None
    try:
        return pa.chunked_array([pa.array([choices.value[number] for number in answer], pa.large_string())])
    except (IndexError, TypeError, UnicodeEncodeError, pa.ArrowException):
        return None  # which document it is, and what the harness says, is found one by one
