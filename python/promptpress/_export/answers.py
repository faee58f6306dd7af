"""Answers of the assistant: columns that become its messages, and conversations that have none."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from promptpress._errors.errors import render_error
from promptpress._export.chat_messages import column_field, refuse_nulls
from promptpress._io.write.json_lines import LineWriter, Piece
from promptpress._utils import lazy_compute as pc

__all__ = [
    "ASSISTANT",
    "answer_messages",
    "answer_texts",
    "check_answer",
    "column_texts",
    "lists_between",
    "refuse_unanswered",
    "unanswered",
]

ASSISTANT = "assistant"


def check_answer(schema: pa.Schema, name: str) -> None:
    """Refuse a column that isn't there, or whose values are lists, structs or bytes.

    Numbers become texts as in a prompt.
    """
    kind = column_field(schema, name).type
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        raise render_error("wrong_column_type", f"an answer is a text, and it is {kind}", column=name)


def answer_texts(batch: pa.RecordBatch, name: str, first_row: int) -> pa.Array:
    """Return the texts of a column of answers.

    Raises:
        RenderError: If a row has no answer; rows count from `first_row`.

    """
    refuse_nulls(batch.column(batch.schema.get_field_index(name)), first_row, name, "it has no answer")
    return column_texts(batch, name, first_row)


def column_texts(batch: pa.RecordBatch, name: str, first_row: int) -> pa.Array:
    """Return the texts of a column's values, as prompts have them.

    Raises:
        RenderError: If a value has no text; rows count from `first_row`.

    """
    column = batch.column(batch.schema.get_field_index(name))
    writer = LineWriter(pa.schema({name: column.type}), [Piece("plain", column=name)])
    written = writer.lines(pa.record_batch({name: column}), first_row)
    return pa.concat_arrays(written or [pa.array([], pa.large_binary())]).cast(pa.large_string())


def answer_messages(texts: pa.Array) -> pa.Array:
    """Return lists of one message each, the assistant's.

    >>> answer_messages(pa.array(["2"])).to_pylist()
    [[{'role': 'assistant', 'content': '2'}]]

    """
    roles = pa.repeat(pa.scalar(ASSISTANT), len(texts))
    items = pa.StructArray.from_arrays([roles, texts], ["role", "content"])
    return pa.LargeListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int64()), items)


def lists_between(messages: pa.Array, starts: list[int], ends: list[int]) -> pa.Array:
    """Return lists of the messages from each start to its end, which are indices of the flattened messages.

    >>> lists_between(pa.array([["a", "b"], ["c"]]), [0, 1], [1, 3]).to_pylist()
    [['a'], ['b', 'c']]

    """
    indices = [index for start, end in zip(starts, ends, strict=True) for index in range(start, end)]
    offsets = [0]
    for start, end in zip(starts, ends, strict=True):
        offsets.append(offsets[-1] + end - start)
    items = messages.flatten().take(pa.array(indices, pa.int64()))
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items)


def refuse_unanswered(messages: pa.Array, first_row: int, name: str) -> None:
    """Refuse conversations in which the assistant says nothing: a model is trained on what it says.

    Raises:
        RenderError: For the first such row; rows count from `first_row`.

    """
    parents = pc.list_parent_indices(messages)
    answered = pc.unique(parents.filter(pc.equal(messages.flatten().field("role"), ASSISTANT)))
    if len(answered) < len(messages):
        rows = set(answered.to_pylist())
        raise unanswered(first_row + next(row for row in range(len(messages)) if row not in rows), name)


def unanswered(row: int, name: str) -> Exception:
    """Return the error for a row that has no answer of the assistant."""
    message = "it has no answer of the assistant to train on; answer= names the column of the answers"
    return render_error("no_assistant_message", message, row, name)
