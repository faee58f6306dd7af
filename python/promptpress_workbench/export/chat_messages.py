"""Prompts as messages that chat APIs take, and the answers of the assistant; all exports use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import did_you_mean, render_error, template_error
from promptpress.engine.tables import (
    checked,
    is_json,
    is_text,
    json_on_one_line,
    json_texts,
    named_json_field,
    with_texts,
    without_views,
)
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.files.write.json_lines import LineWriter, Piece, json_text

Form = Literal["text", "messages", "messages_json"]
"""The form of prompts: texts, messages, or messages as JSON."""

ROLES = (*_core.OUTPUT_FORMS["openai"].roles, "function")
"""The roles of chat APIs; the last one is that of functions, which came before tools."""

_SAME_ROLES = dict(_core.OUTPUT_FORMS["openai"].aliases)
"""Other names of roles, in any case."""

_AS_OPENAI = 'render with output="openai" (and roles= for roles of your own)'

_MESSAGES = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))


def column_field(schema: pa.Schema, name: str, hint: str = "; keep= keeps it when the table is rendered") -> pa.Field:
    """Return a column's field, or raise `missing_column` with a similar name or the hint."""
    if not schema.get_all_field_indices(name):
        remedy = did_you_mean(name, schema.names) or hint
        raise render_error("missing_column", f"the table has no such column{remedy}", column=name)
    return schema.field(name)


def refuse_nulls(column: pa.Array, first_row: int, name: str, message: str) -> None:
    """Raise `null_value` for the first null of a column."""
    if column.null_count:
        raise render_error("null_value", message, first_row + column.is_null().to_pylist().index(True), name)


def are_plain(messages: list[dict[str, Any]]) -> bool:
    """Return true if every chat API takes the messages as they are."""
    return bool(messages) and all(
        message.get("role") in ROLES and isinstance(message.get("content"), str) for message in messages
    )


class Prompts:
    """Converts the prompts of batches to messages with the fields `role` and `content`.

    Without a `form`, strings are texts and lists of structs messages. Texts that look like the JSON of messages are
    refused then, because only their author knows the form.
    """

    def __init__(self, schema: pa.Schema, name: str, form: Form | None) -> None:
        self.name = name
        field = column_field(schema, name, "; prompt= names the column of prompts")
        self._is_json = is_json(field)
        kind = pa.large_string() if self._is_json else field.type
        form = "messages_json" if self._is_json and form is None else form
        natural: Form = "text" if holds_texts(kind) else "messages"
        if form not in (None, "text", "messages", "messages_json"):
            raise template_error("unknown_name", "form", f"{form!r} is none of 'text', 'messages', 'messages_json'")
        if form is not None and (form == "messages") != (natural == "messages"):
            raise template_error("wrong_column_type", "form", f"{form!r} isn't what a column of {kind} holds")
        self.form: Form = form or natural
        self._guessed = form is None and natural == "text"
        self._convert = self._converter(kind)
        self.type: pa.DataType = (
            pa.large_string() if self.form == "messages_json" else self._convert(pa.nulls(0, kind), 0).type
        )

    def converted(self, column: pa.Array, first_row: int) -> pa.Array:
        """Convert a batch's prompts."""
        refuse_nulls(column, first_row, self.name, "it has no prompt")
        if self._is_json:
            column = self._of_json(column, first_row)
        if self._guessed and len(column):
            self._guessed = False
            if _looks_like_messages(column[0].as_py()):
                message = (
                    'its text looks like the JSON of messages; form="messages_json" sends it as messages, form="text"'
                    " as the text of one"
                )
                raise render_error("wrong_column_type", message, first_row, self.name)
        return self._convert(column, first_row)

    def as_messages(self, column: pa.Array, first_row: int) -> pa.Array:
        """Convert a batch's prompts to lists of structs, whatever their form: a text is the one message of a user."""
        prompts = self.converted(column, first_row)
        if self.form == "messages":
            return prompts
        if self.form == "messages_json":
            rows = [json.loads(text) for text in prompts.to_pylist()]
            for row, messages in enumerate(rows, first_row):
                for message in messages:
                    if set(message) != {"role", "content"} or not isinstance(message["content"], str):
                        text = f"a message has more than a role and a text: {json_text(message)[:60]}"
                        raise render_error("wrong_column_type", text, row, self.name)
            return pa.array(rows, _MESSAGES)
        texts = prompts.cast(pa.string()) if types.is_dictionary(prompts.type) else prompts
        roles = pa.repeat(pa.scalar("user"), len(texts))
        items = pa.StructArray.from_arrays([roles, texts], ["role", "content"])
        return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), items)

    def for_training(self, column: pa.Array, first_row: int) -> pa.Array:
        """Convert a batch's prompts to texts if they are texts, and else to lists of structs, as `as_messages`."""
        return (self.converted if self.form == "text" else self.as_messages)(column, first_row)

    def _converter(self, kind: pa.DataType) -> Callable[[pa.Array, int], pa.Array]:
        """Return the function that converts a column of this type, given the number of its first row."""
        if self.form == "text":
            return lambda column, _: column
        if self.form == "messages_json":
            return self._from_json
        if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
            message = f"messages are lists of structs, and it is {kind}; {_AS_OPENAI}"
            raise render_error("wrong_column_type", message, column=self.name)
        fields = [field.name for field in kind.value_type]
        if "role" not in fields or "parts" in fields or not {"content", "prompt"} & set(fields):
            message = (
                f"its messages have {', '.join(map(repr, fields))}, and APIs take 'role' and 'content'; {_AS_OPENAI}"
            )
            raise render_error("wrong_column_type", message, column=self.name)
        renamed = ["content" if name == "prompt" and "content" not in fields else name for name in fields]

        def messages(column: pa.Array, first_row: int) -> pa.Array:
            name = "content" if "content" in fields else "prompt"
            # The core looks at all messages fast; some that it calls not plain are right.
            if len(column) and not _core.are_plain_chats(checked(pa.table({self.name: column})), ROLES, name):
                self._check_roles(column, first_row)
                self._check_contents(column, first_row, name)
            return column if renamed == fields else _renamed(column, renamed)

        return messages

    def _check_roles(self, column: pa.Array, first_row: int) -> None:
        if set(pc.unique(column.flatten().field("role")).to_pylist()) <= set(ROLES):
            return
        for row, messages in enumerate(column.to_pylist(), first_row):
            for message in messages:
                if message is None or message["role"] not in ROLES:
                    raise self._wrong_role(None if message is None else message["role"], row)

    def _check_contents(self, column: pa.Array, first_row: int, name: str) -> None:
        """Refuse requests without a message, or with a null content that isn't the assistant's, like every API."""
        index = pc.index(pc.equal(pc.list_value_length(column), 0), True).as_py()
        if index >= 0:
            raise render_error("incomplete_message", "it has no message", first_row + index, self.name)
        if not column.flatten().field(name).null_count:
            return
        for row, messages in enumerate(column.to_pylist(), first_row):
            for message in messages:
                if message[name] is None and message["role"] != "assistant":
                    text = f"a message of {message['role']!r} has no content"
                    raise render_error("incomplete_message", text, row, self.name)

    def _wrong_role(self, role: Any, row: int) -> Exception:
        text = "a message has no role" if role is None else f"the role {role!r} is none that chat APIs have"
        return render_error("invalid_role", f"{text} ({', '.join(ROLES)}); {_AS_OPENAI}", row, self.name)

    def _of_json(self, column: pa.Array, first_row: int) -> pa.Array:
        """Return the values of a column of JSON: their texts for texts, else JSON."""
        if self.form == "messages_json":
            return json_texts(column)
        table = pa.Table.from_arrays([column], schema=pa.schema([named_json_field(self.name, column.type)]))
        return with_texts(table, [self.name], first_row).column(0).combine_chunks()

    def _from_json(self, column: pa.Array, first_row: int) -> pa.Array:
        """Convert JSON of messages; a row that chat APIs take as it is keeps its own numbers."""
        parsed = [self._parse_messages(text, row) for row, text in enumerate(column.to_pylist(), first_row)]
        written = json_on_one_line(column, self.name, first_row).to_pylist()
        texts = [
            text if messages == value else json_text(messages)
            for text, (value, messages) in zip(written, parsed, strict=True)
        ]
        return pa.array(texts, pa.large_string())

    def _parse_messages(self, text: str, row: int) -> tuple[Any, list[Any]]:
        """Return the value of a text, and the messages that chat APIs take."""
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
            json_text(value).encode()
        except (ValueError, RecursionError) as error:
            raise render_error("no_json_form", f"it is no JSON: {error}", row, self.name) from error
        if isinstance(value, str):
            return value, [{"role": "user", "content": value}]
        if not isinstance(value, list) or not value or not all(isinstance(message, dict) for message in value):
            raise render_error("wrong_column_type", f"it is no list of messages; {_AS_OPENAI}", row, self.name)
        return value, [self._api_message(message, row) for message in value]

    def _api_message(self, message: dict[str, Any], row: int) -> dict[str, Any]:
        name = message.get("role")
        lowered = name.lower() if isinstance(name, str) else ""
        role = name if name in ROLES else lowered if lowered in ROLES else _SAME_ROLES.get(lowered)
        if role is None:
            raise self._wrong_role(name, row)
        out = {"content" if key == "prompt" else key: value for key, value in message.items()}
        out["role"] = role
        if out.get("content") is None and (role != "assistant" or out.keys() <= {"role", "content", "name"}):
            raise render_error("incomplete_message", f"a message of {name!r} has no content", row, self.name)
        return out


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"it has no {name}")


def holds_texts(kind: pa.DataType) -> bool:
    """Return true for a type of strings, or a dictionary of strings."""
    return is_text(kind.value_type if types.is_dictionary(kind) else kind)


def _looks_like_messages(text: Any) -> bool:
    if not isinstance(text, str) or text[:1] != "[":
        return False
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def _renamed(column: pa.Array, names: list[str]) -> pa.Array:
    """Give the fields of messages other names; nothing is copied but offsets."""
    items = column.flatten()
    structs = pa.StructArray.from_arrays(
        [items.field(index) for index in range(len(names))],
        fields=[pa.field(name, field.type) for name, field in zip(names, items.type, strict=True)],
        mask=items.is_null() if items.null_count else None,
    )
    return lists_of(column, structs)


def lists_of(column: pa.Array, items: pa.Array) -> pa.Array:
    """Make lists as long as those of a column without nulls, of other items."""
    offsets = column.offsets
    offsets = pc.subtract(offsets, offsets[0])
    make = pa.LargeListArray if types.is_large_list(column.type) else pa.ListArray
    return make.from_arrays(offsets, items)


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
    message = "it has no answer of the assistant to train on; answer= names the column of the answers"
    return render_error("no_assistant_message", message, row, name)
