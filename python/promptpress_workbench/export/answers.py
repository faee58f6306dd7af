"""Answers of the assistant: columns that become its messages, and conversations that have none."""

from __future__ import annotations

import pyarrow as pa
from promptpress.engine.errors import render_error
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.export.chat_messages import column_field, refuse_nulls
from promptpress_workbench.files.write.json_lines import LineWriter, Piece

ASSISTANT = "assistant"


def check_answer(schema: pa.Schema, name: str) -> None:
    """Refuse a column that isn't there, or has lists, structs or bytes; numbers become texts as in a prompt."""
    kind = column_field(schema, name).type
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        raise render_error("wrong_column_type", f"an answer is a text, and it is {kind}", column=name)


def answer_texts(batch: pa.RecordBatch, name: str, first_row: int, *, may_be_empty: bool = False) -> pa.Array:
    """Return the texts of a column of answers. Refuse rows without an answer, as `refuse_no_answers` does."""
    refuse_no_answers(batch.column(batch.schema.get_field_index(name)), first_row, name, may_be_empty=may_be_empty)
    return column_texts(batch, name, first_row)


def refuse_no_answers(column: pa.Array, first_row: int, name: str, *, may_be_empty: bool = False) -> None:
    """Refuse rows without an answer: a null, an empty text or blanks, as CSV files write a missing answer."""
    remedy = f"leave such rows out, on the command line by --where \"trim({name}) <> ''\""
    refuse_nulls(column, first_row, name, f"it has no answer; {remedy}")
    texts = column.dictionary_decode() if types.is_dictionary(column.type) else column
    if is_text(texts.type) and not may_be_empty:
        is_blank = pc.equal(pc.binary_length(pc.utf8_trim_whitespace(without_views(texts))), 0)
        row = pc.index(is_blank, pa.scalar(value=True)).as_py()
        if row >= 0:
            raise render_error("no_assistant_message", f"its answer is empty; {remedy}", first_row + row, name)


def column_texts(batch: pa.RecordBatch, name: str, first_row: int) -> pa.Array:
    """Return the texts of a column's values, as prompts have them. An error names the row, counted from `first_row`."""
    column = batch.column(batch.schema.get_field_index(name))
    schema = pa.schema([batch.schema.field(name)])
    writer = LineWriter(schema, [Piece("plain", column=name)])
    written = writer.lines(pa.RecordBatch.from_arrays([column], schema=schema), first_row)
    return pa.concat_arrays(written or [pa.array([], pa.large_binary())]).cast(pa.large_string())


def answer_messages(texts: pa.Array) -> pa.Array:
    """Return lists of one message each, the assistant's."""
    roles = pa.repeat(pa.scalar(ASSISTANT), len(texts))
    items = pa.StructArray.from_arrays([roles, texts], ["role", "content"])
    return pa.LargeListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int64()), items)


def lists_between(messages: pa.Array, starts: list[int], ends: list[int]) -> pa.Array:
    """Return lists of the messages from each start to its end, which are indices of the flattened messages."""
    indices = [index for start, end in zip(starts, ends, strict=True) for index in range(start, end)]
    offsets = [0]
    for start, end in zip(starts, ends, strict=True):
        offsets.append(offsets[-1] + end - start)
    items = messages.flatten().take(pa.array(indices, pa.int64()))
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items)


def refuse_unanswered(messages: pa.Array, first_row: int, name: str) -> None:
    """Refuse conversations in which the assistant says nothing: a model is trained on what it says."""
    parents = pc.list_parent_indices(messages)
    answered = pc.unique(parents.filter(pc.equal(messages.flatten().field("role"), ASSISTANT)))
    if len(answered) < len(messages):
        rows = set(answered.to_pylist())
        raise unanswered(first_row + next(row for row in range(len(messages)) if row not in rows), name)


def unanswered(row: int, name: str) -> Exception:
    """Return the error for a row that has no answer of the assistant."""
    message = "it has no answer of the assistant to train on; answer= names the column of the answers"
    return render_error("no_assistant_message", message, row, name)
