"""Questions and answers as messages, and the shots made of few-shot documents, one by one or in bulk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
from promptpress import RenderError
from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.documents import (
    Column,
    Constant,
    Documents,
    Numbers,
    TableDocuments,
    Texts,
    as_sequence,
    values,
)
from promptpress_harness.lm_eval.fields import Fields
from promptpress_harness.lm_eval.task import Task

Turn = tuple[str, str, Any]
"""Role, content, and the delimiter after it in plain text; a delimiter of None raises there, as in the harness."""
_WHOLE_POOL_SHARE = 0.5
"""If at least this share of the pool is drawn, the fields of the whole pool are evaluated."""

PlainColumns: TypeAlias = tuple[pa.ChunkedArray, pa.ChunkedArray, bool]
"""Questions, answers, and whether an empty answer means that there is no answer."""


def question_and_answer(text: Any, choices: Any, answer: Any, prefix: Any, delimiters: tuple[Any, Any]) -> list[Turn]:
    """Return a document's question, and its answer if there is one, as messages.

    A question without answer has no delimiter after it, unless the prefix needs one. The answer is a text, the number
    of a choice, or a list whose first item is the answer; None and "" are no answer.
    """
    if not isinstance(text, str):
        raise AssertionError(f"a document's text has to be a string; found {text!r}")
    target_delimiter, fewshot_delimiter = delimiters
    answered = answer is not None and answer != ""
    # A prefix needs a delimiter unless there is white space, or no text, before it.
    delimited = text != "" and not (text[-1].isspace() or prefix[0].isspace()) if prefix else answered
    question = ("user", text, target_delimiter if delimited else "")
    if not answered:
        return [question, ("assistant", prefix, "")] if prefix else [question]
    answer_text = answer[0] if isinstance(answer, list) else answer
    if choices and isinstance(answer, int):
        answer_text = choices[answer]
    if not isinstance(answer_text, str):
        raise AssertionError(f"a document's answer has to be a string; found {answer!r}")
    return [question, ("assistant", join(prefix, answer_text, " "), fewshot_delimiter)]


def join(before: Any, after: Any, delimiter: str | None) -> Any:
    """Join two texts, with a delimiter if neither is empty and there is no white space between them."""
    if not before:
        return after or ""
    if not after:
        return before or ""
    return before + after if before[-1].isspace() or after[0].isspace() else before + delimiter + after


def plain_text(turns: Iterable[Turn]) -> str:
    """Return messages as plain text, with the delimiter after each."""
    return "".join([text + delimiter for _, text, delimiter in turns])


def conversation(system: Any, shots: list[Turn], question: list[Turn], as_turns: bool) -> list[dict[str, Any]]:
    """Return the list of messages for a chat template, without a system message if its content is empty.

    If shots aren't turns, they stand as plain text before the user's question.
    """
    messages = shots + question if as_turns else list(question)
    if not as_turns:
        role, text, delimiter = messages[0]
        messages[0] = (role, plain_text(shots) + text, delimiter)
    out = [{"role": "system", "content": system}] if system else []
    return out + [{"role": role, "content": content} for role, content, _ in messages]


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
        """Texts and answers, if each document has both and no prefix, so that no document can raise."""
        if not isinstance(self.text, Texts) or not isinstance(self.prefix, Constant) or self.prefix.value:
            return None
        answers = _answers(self)
        return None if answers is None else (self.text.array, answers, isinstance(self.answer, Texts))


@dataclass(frozen=True)
class DrawnShots:
    """Shots that are drawn for documents: the row (int32) in `columns` of each shot, document after document."""

    columns: ShotColumns
    drawn: pa.Array


def drawn_shots(task: Task, drawn: pa.Array) -> DrawnShots:
    """Evaluate the fields of the few-shot documents that `Task.draw_shots` has drawn."""
    assert task.pool is not None
    used = pc.unique(drawn)
    if isinstance(task.pool, TableDocuments) and len(used) >= _WHOLE_POOL_SHARE * len(task.pool):
        # This is faster than taking so many documents out of the pool.
        try:
            columns = shot_columns(task.fields, task.config, task.config.fewshot, task.pool)
        except RenderError:
            pass  # the document that raises may not be among those that are drawn
        else:
            if columns.plain is not None and not task.several_inputs:
                return DrawnShots(columns, drawn)
    used = used.take(pc.array_sort_indices(used))
    documents = task.pool.take(as_sequence(used.cast(pa.int64())))
    columns = shot_columns(task.fields, task.config, task.config.fewshot, documents)
    return DrawnShots(columns, pc.index_in(drawn, used))


def shot_columns(fields: Fields, config: Any, fewshot_config: Any, documents: Documents) -> ShotColumns:
    """Evaluate the fields of few-shot documents; both configurations are the harness's objects or those here."""
    text, target = fewshot_config.doc_to_text, fewshot_config.doc_to_target
    choices = fewshot_config.doc_to_choice
    return ShotColumns(
        documents,
        fields.text(config.doc_to_text if text is None else text, documents),
        fields.choices(choices, documents) if choices else Constant(None, len(documents)),
        fields.target(config.doc_to_target if target is None else target, documents),
        documents.resolve(fewshot_config.gen_prefix),
    )


def shot_turns(task: Task, columns: ShotColumns) -> list[list[Turn]]:
    """Return each few-shot document's messages."""
    delimiters = (task.config.fewshot.target_delimiter, task.config.fewshot.fewshot_delimiter)

    def turns(text: Any, choices: Any, answer: Any, prefix: Any) -> list[Turn]:
        if task.several_inputs:
            text, choices = choices[text], None
        return question_and_answer(text, choices, answer, prefix, delimiters)

    fields = (columns.text, columns.choices, columns.answer, columns.prefix)
    return columns.documents.each(turns, *map(values, fields))


def shot_texts(task: Task, columns: ShotColumns) -> pa.Array | pa.ChunkedArray | None:
    """Return each few-shot document's plain text; None if texts have to be made one by one, to raise as the harness."""
    fewshot = task.config.fewshot
    if columns.plain is not None and not task.several_inputs:
        return plain_texts(columns.plain, fewshot)
    if None in (fewshot.target_delimiter, fewshot.fewshot_delimiter):
        return None
    try:
        return pa.array([plain_text(turns) for turns in shot_turns(task, columns)], pa.large_string())
    except UnicodeEncodeError:
        return None


def plain_texts(columns: PlainColumns, fewshot_config: Any) -> pa.ChunkedArray | None:
    """Return the plain texts of few-shot documents that are a question and an answer each.

    If a delimiter is None, return None, because only making texts one by one shows whether it is used.
    """
    delimiters = (fewshot_config.target_delimiter, fewshot_config.fewshot_delimiter)
    if None in delimiters:
        return None
    texts, answers, may_lack_answers = columns
    empty, target, end = (pa.scalar(value, pa.large_string()) for value in ("", *delimiters))
    if may_lack_answers:
        # Without an answer there is no delimiter. An answer that is the number of an empty choice isn't missing.
        lacks = pc.equal(answers, "")
        target, end = (pc.if_else(lacks, empty, delimiter) for delimiter in (target, end))
    return pc.binary_join_element_wise(texts, target, answers, end, empty)


def _answers(columns: ShotColumns) -> pa.ChunkedArray | None:
    """Return answers that are texts, or numbers of choices that all documents share; None for other answers."""
    answer, choices = columns.answer, columns.choices
    if isinstance(answer, Texts):
        return answer.array
    if not isinstance(choices, Constant) or not isinstance(choices.value, list) or not choices.value:
        return None
    try:
        if isinstance(answer, Numbers):
            listed = pa.array(choices.value, pa.large_string())
            offset = pc.if_else(pc.less(answer.array, 0), len(listed), 0)
            return None if listed.null_count else pa.chunked_array([listed]).take(pc.add(answer.array, offset))
        if not isinstance(answer, list) or not set(map(type, answer)) <= {int, bool}:
            return None
        return pa.chunked_array([pa.array([choices.value[number] for number in answer], pa.large_string())])
    except (IndexError, TypeError, UnicodeEncodeError, pa.ArrowException):
        return None  # making the shots one by one shows which document it is and what the harness raises
