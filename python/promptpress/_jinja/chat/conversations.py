"""Conversations: rows of a column as messages, by the rules of transformers.

The rules are those of `apply_chat_template` in transformers 5.23 and 5.24. They depend only on the structure of a
conversation, so the same code handles the messages of a row and those of a shape, whose texts aren't known yet. 5.23
takes no message objects, and raises an AttributeError for a message that is no dict.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.columns import is_text
from promptpress._arrow.core_tables import PythonText, for_core, unsupported_columns
from promptpress._arrow.json_columns import holds_json, is_json
from promptpress._arrow.json_columns import json_texts as json_texts_of
from promptpress._core import RenderError
from promptpress._errors.errors import render_error
from promptpress._jinja.chat.arguments import ALL, LISTS, RowArguments, without_nulls
from promptpress._jinja.chat.roles import PLAIN, TurnRules

Messages = list[Any]

TAG = "CONTINUE_FINAL_MESSAGE_TAG "
"""The mark that is put after the text that is to be continued, and is then searched in the rendered text."""

REASONING = ("reasoning_content", "thinking", "reasoning")
"""Names of a message's reasoning. Templates read the first."""

_SCALARS = frozenset({type(None), bool, int, float, str})


def normalised(
    conversation: Any,
    rules: TurnRules = PLAIN,
    is_opaque: Callable[[Any], bool] = lambda _: False,
    is_text: Callable[[Any], bool] = lambda value: type(value) is str,
) -> Messages:
    """Return new messages, as a template sees them.

    Keys whose value is None are dropped, roles and calls are those of OpenAI's form by the rules, and reasoning is
    stored under each name by which templates read it. `is_opaque` returns true for a value that isn't known yet,
    `is_text` for one that surely is a text.
    """
    if not conversation:
        raise ValueError("Cannot apply chat template to an empty conversation. Provide at least one message.")
    messages = []
    for message in conversation:
        if not isinstance(message, dict):
            error = f"Chat messages should be dicts, dataclasses or pydantic models, but got {message!r}."
            raise TypeError(error)
        messages.append({key: value for key, value in message.items() if value is not None})
    plain_messages = (plain(message, is_opaque) for message in messages)
    return [_with_reasoning(rules.applied(message, n, is_text)) for n, message in enumerate(plain_messages)]


def is_message(value: Any) -> bool:
    """Return true for what transformers makes a dict of: a mapping, a dataclass, or a pydantic model."""
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_dataclass or isinstance(value, Mapping) or callable(getattr(value, "model_dump", None))


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    reasoning = next((message[key] for key in REASONING if message.get(key) is not None), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def plain(value: Any, is_opaque: Callable[[Any], bool] = lambda _: False) -> Any:
    """Copy a value into JSON's types, tuples and names of other types, which are all that a template may see.

    Values for which `is_opaque` returns true stay.
    """
    if type(value) in _SCALARS or is_opaque(value):
        return value
    if isinstance(value, Mapping):
        return {plain(key, is_opaque): plain(item, is_opaque) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [plain(item, is_opaque) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return _plain_object(value)


def _plain_object(value: Any) -> Any:  # noqa: PLR0911 - a return for each kind of object
    # A subclass may have methods that a template could call.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return plain(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump())
    return f"<{type(value).__name__}>"


def tagged(
    messages: Messages, field: str, source: str, join: Callable[[Any, str], Any], same: Callable[[Any, Any], bool]
) -> Any:
    """Put the tag after the text that is to be continued, and return the text without the tag.

    The last message is changed. `join` puts the tag after a text, `same` returns true if two values are equal.
    """
    final = messages[-1].get(field)
    if final is None:
        raise ValueError(f'continue_final_message is set but the final message has no "{field}" to continue!')
    fields = [field]
    if field in REASONING:
        fields = [name for name in REASONING if same(messages[-1].get(name), final)]
    if not any(name in source for name in fields):
        message = f'continue_final_message is set to "{field}" but this is not an accepted field in the chat_template'
        raise ValueError(message)
    if type(final) in (list, tuple):
        for part in reversed(final):
            if "text" in part:
                final = part["text"]
                part["text"] = join(part["text"], TAG)
                return final
        message = "continue_final_message is set but we could not find any text to continue in the final message!"
        raise ValueError(message)
    for name in fields:
        messages[-1][name] = join(messages[-1][name], TAG)
    return final


def cut(text: str, final: Any) -> str:
    """Cut a text at the tag; if the template stripped the tag, cut the blanks before it too."""
    if final.strip() not in text or TAG.strip() not in text:
        message = (
            "continue_final_message is set but the final message does not appear in the chat after "
            "applying the chat template! This can happen if the chat template deletes portions of "
            "the final message. Please verify the chat template and final message in your chat to "
            "ensure they are compatible."
            f"Final message to continue: {final.strip()}\nRendered chat:\n{text}"
        )
        raise ValueError(message)
    end = text.rindex(TAG.strip())
    return text[:end] if text.startswith(TAG, end) else text[:end].rstrip()


NO_SHAPE = 2**32 - 1

COLUMN = "messages"
"""The column of conversations, unless another is named."""

_MESSAGES = ("messages", "conversations")
_ARGUMENTS = ("tools", "functions", "documents")

Read = tuple[pa.Array, pa.Array, list[tuple[int, int]]]
"""The shape of each row, the texts of its slots, and the shapes that occur with the number of rows of each."""


@dataclass(frozen=True)
class ConversationRows:
    """A chunk of a column of conversations, as the core reads it.

    `offset` is the number of the table's rows before the chunk, `first_row` that of the chunk's first row among all.
    `python_values` returns the column's values as Python objects, given their row numbers in the table. If
    `is_foreign`, the core doesn't know the type, so Python reads all rows. `arguments` are the columns of arguments by
    their names, `of_arguments` their chunks, as long as that of the conversations, and `of_json` those of JSON.
    """

    chunk: pa.Array
    column: str
    offset: int
    first_row: int
    python_values: PythonText
    is_foreign: bool
    arguments: Mapping[str, str]
    of_arguments: Mapping[str, pa.Array]
    of_json: Container[str]

    def read(self, shapes: _core.ConversationShapes, start: int, count: int, *, opening: int) -> Read:
        """Read `count` rows by the core, and add their shapes; `opening` is as `ShapePrograms.looks_inside`."""
        if self.is_foreign:
            return pa.array([NO_SHAPE] * count, pa.uint32()), pa.nulls(count, pa.list_(pa.string())), []
        try:
            arguments = [(name, name in self.of_json, chunk) for name, chunk in self.of_arguments.items()]
            return shapes.read(self.chunk, start, count, self.first_row, opening, arguments)
        except RenderError as error:
            raise render_error(error.code, error.message, error.row, self.column) from None

    def values(self, numbers: list[int]) -> list[Any]:
        """Return rows as Python objects, which `conversation_of` reads; their numbers are in ascending order."""
        if not numbers:
            return []
        return self._values(self.column, self.chunk, numbers)

    def row_arguments(self, numbers: list[int]) -> list[RowArguments]:
        """Return the values of rows' arguments as Python objects, which `arguments_of` reads."""
        columns = {}
        for name, chunk in self.of_arguments.items():
            values = self._values(self.arguments[name], chunk, numbers)
            if name in self.of_json and name not in (ALL, *LISTS):
                values = [None if value is None else json.loads(value) for value in values]
            columns[name] = values if is_text(chunk.type) else map(without_nulls, values)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _values(self, column: str, chunk: pa.Array, numbers: list[int]) -> list[Any]:
        if not self.is_foreign and _is_plain(chunk.type):
            rows: list[Any] = pa.concat_arrays([chunk.slice(number, 1) for number in numbers]).to_pylist()
            return rows
        rows_of_table = pa.array([self.offset + number for number in numbers], pa.int64())
        values: list[Any] = self.python_values(column, rows_of_table, True)
        return values


def conversation_rows(
    table: pa.Table, column: str, first_row: int, arguments: Mapping[str, str]
) -> Iterator[ConversationRows]:
    """Yield the chunks of a column of conversations and of columns of arguments, at least one."""
    columns = dict.fromkeys((column, *arguments.values()))
    of_json = [name for name, of_name in arguments.items() if holds_json(table.schema.field(of_name))]
    table = pa.table({name: conversations_as_texts(table, name).column(0) for name in columns})
    is_foreign = bool(unsupported_columns(table.schema))
    core_table, python_values = for_core(table, first_row)
    done = 0
    for batch in core_table.to_batches() or [[pa.nulls(0, field.type) for field in core_table.schema]]:
        chunks = dict(zip(columns, batch, strict=True))
        of_arguments, chunk = {name: chunks[of_name] for name, of_name in arguments.items()}, chunks[column]
        of_batch = (python_values, is_foreign, arguments, of_arguments, of_json)
        yield ConversationRows(chunk, column, done, first_row + done, *of_batch)
        done += len(chunk)


def conversations_as_texts(table: pa.Table, column: str) -> pa.Table:
    """Return the column of conversations alone; one of JSON, or with JSON in it, as texts of JSON."""
    table = table.select([column])
    field = table.schema.field(0)
    if is_json(field):
        return pa.table({column: json_texts_of(table.column(0))})
    if not holds_json(field):
        return table
    try:
        texts = pa.chunked_array(_core.field_texts(table, True), pa.large_string())
    except RenderError:
        return table  # the row whose JSON is at fault gets the error
    return pa.table({column: pc.if_else(table.column(0).is_valid(), texts, None)})


def _is_plain(data_type: pa.DataType) -> bool:
    """Return true if the core has checked every value of a type, so that single rows can be converted to Python."""
    types = pa.types
    if types.is_list(data_type) or types.is_large_list(data_type) or types.is_struct(data_type):
        return all(_is_plain(data_type.field(number).type) for number in range(data_type.num_fields))
    checks = (
        *(types.is_string, types.is_large_string, types.is_string_view),
        *(types.is_boolean, types.is_integer, types.is_floating, types.is_null),
    )
    return any(check(data_type) for check in checks)


def conversation_of(value: Any) -> list[Any]:
    """Return the messages of a column's value; raise a ValueError if it has none.

    A value is a list of dicts, a text that holds such a list as JSON, or an object that has one under `messages` or
    `conversations`. An object with tools or documents is refused, because the template wouldn't see them.
    """
    if value is None:
        raise ValueError("it is null")
    if isinstance(value, str):
        try:
            value = json.loads(value)
            value = json.loads(value) if isinstance(value, str) else value  # JSON whose value is such a text
        except RecursionError:
            raise ValueError("its JSON is nested too deep") from None
        except ValueError as error:
            raise ValueError(f"a text stands where a list of messages is needed, and it is no JSON: {error}") from None
    if isinstance(value, dict):
        if value.keys() == {_MARKED}:
            return list(_without_marks(value[_MARKED]))
        for name in _ARGUMENTS:
            if value.get(name):
                message = f"it has {name!r} of its own, which isn't rendered; put them into a column of that name"
                raise ValueError(message)
        value = next((value[name] for name in _MESSAGES if name in value), value)
    if not isinstance(value, list):
        message = f"expected a list of messages, or an object with {' or '.join(map(repr, _MESSAGES))}, found "
        raise ValueError(message + f"a {type(value).__name__}")
    return value


def json_texts(values: Iterable[Any]) -> list[str | None] | None:
    """Write conversations as JSON that templates see as transformers shows the objects; None if a value is none.

    A value is a list of messages, an object that has one as `messages`, or anything that a column of conversations
    holds. What JSON has no form for, such as a tuple or a key that isn't a text, is written as `_with_marks` does.
    """
    try:
        return [None if value is None else _json_text(value) for value in values]
    except (ValueError, TypeError, RecursionError):
        return None


def _json_text(value: Any) -> str:
    if not isinstance(value, (str, Mapping)):
        value = getattr(value, "messages", value)
        if not isinstance(value, (list, tuple)) or not all(map(is_message, value)):
            raise ValueError("no list of messages")
        value = list(value)
    try:
        text = json.dumps(value)
        if json.loads(text) == value:
            return text
    except (ValueError, TypeError):
        pass
    seen = plain(value)
    text = json.dumps(seen)
    return text if _is_json(seen) else json.dumps({_MARKED: _with_marks(seen)})


_MARKED, _TUPLE, _DICT = "promptpress:conversation", "promptpress:tuple", "promptpress:dict"
"""The only keys of dicts that stand for a conversation, a tuple, and a dict of any keys."""


def _is_json(value: Any) -> bool:
    """Return true for a value that JSON gives back."""
    if isinstance(value, dict):
        return all(type(key) is str for key in value) and all(map(_is_json, value.values()))
    return not isinstance(value, tuple) and (not isinstance(value, list) or all(map(_is_json, value)))


def _with_marks(value: Any) -> Any:
    """Write a tuple as a dict whose only key says so, and a dict whose keys aren't texts as one of pairs."""
    if isinstance(value, list):
        return [_with_marks(item) for item in value]
    if isinstance(value, tuple):
        return {_TUPLE: [_with_marks(item) for item in value]}
    if not isinstance(value, dict):
        return value
    if all(type(key) is str for key in value) and value.keys().isdisjoint((_TUPLE, _DICT)):
        return {key: _with_marks(item) for key, item in value.items()}
    return {_DICT: [[_with_marks(key), _with_marks(item)] for key, item in value.items()]}


def _without_marks(value: Any) -> Any:
    """Return the value that `_with_marks` has written."""
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_TUPLE}:
        return tuple(map(_without_marks, value[_TUPLE]))
    if value.keys() == {_DICT}:
        return {_without_marks(key): _without_marks(item) for key, item in value[_DICT]}
    return {key: _without_marks(item) for key, item in value.items()}


def with_shared_texts(value: Any, texts: dict[str, str] | None = None) -> Any:
    """Copy messages so that equal texts are one object, as in a conversation that a Python program has built.

    A template can see the difference by `sameas`.
    """
    texts = {} if texts is None else texts
    if type(value) is str:
        return texts.setdefault(value, value)
    if type(value) is list:
        return [with_shared_texts(item, texts) for item in value]
    if type(value) is dict:
        return {key: with_shared_texts(item, texts) for key, item in value.items()}
    return value
