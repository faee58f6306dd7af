"""Rows of a column of conversations: as the core reads them, and as Python objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.core_tables import PythonText, for_core, unsupported_columns
from promptpress._arrow.json_columns import holds_json, is_json
from promptpress._arrow.json_columns import json_texts as json_texts_of
from promptpress._core import RenderError
from promptpress._errors.errors import render_error
from promptpress._jinja.chat.messages import is_message, plain

NO_SHAPE = 2**32 - 1

COLUMN = "messages"
"""The column of conversations, unless another is named."""

_MESSAGES = ("messages", "conversations")
_ARGUMENTS = ("tools", "functions", "documents")

Read = tuple[pa.Array, pa.Array, list[tuple[int, int]]]
"""The shape of each row, the texts of its slots, and the shapes that occur with the number of rows of each."""


@dataclass(frozen=True)
class ConversationRows:
    """A chunk of a column of conversations.

    Args:
        chunk: As the core reads it.
        column: The column's name.
        offset: How many rows of the table come before the chunk.
        first_row: The number of the chunk's first row among all.
        python_values: Returns the column's values as Python objects, given their row numbers in the table.
        is_foreign: True if the core doesn't know the type, so that Python reads all rows.
    """

    chunk: pa.Array
    column: str
    offset: int
    first_row: int
    python_values: PythonText
    is_foreign: bool

    def read(self, shapes: _core.ConversationShapes, start: int, count: int, *, is_open: bool) -> Read:
        """Read `count` rows by the core, and add their shapes; `is_open`: no list or dict is a single slot.

        Raises:
            RenderError: If the column has no conversations, or is malformed.
        """
        if self.is_foreign:
            return pa.array([NO_SHAPE] * count, pa.uint32()), pa.nulls(count, pa.list_(pa.string())), []
        try:
            return shapes.read(self.chunk, start, count, self.first_row, is_open)
        except RenderError as error:
            raise render_error(error.code, error.message, error.row, self.column) from None

    def values(self, numbers: list[int]) -> list[Any]:
        """Return rows as Python objects, which `conversation_of` reads; their numbers are in ascending order.

        Raises:
            RenderError: If a value can't be converted.
        """
        if not numbers:
            return []
        if self._is_plain:
            rows: list[Any] = pa.concat_arrays([self.chunk.slice(number, 1) for number in numbers]).to_pylist()
            return rows
        rows_of_table = pa.array([self.offset + number for number in numbers], pa.int64())
        values: list[Any] = self.python_values(self.column, rows_of_table, True)
        return values

    @cached_property
    def _is_plain(self) -> bool:
        return not self.is_foreign and _is_plain(self.chunk.type)


def conversation_rows(table: pa.Table, column: str, first_row: int) -> Iterator[ConversationRows]:
    """Yield the chunks of a column of conversations, at least one."""
    table = conversations_as_texts(table, column)
    is_foreign = column in unsupported_columns(table.schema)
    core_table, python_values = for_core(table, first_row)
    done = 0
    for chunk in core_table.column(0).chunks or [pa.nulls(0, core_table.schema.field(0).type)]:
        yield ConversationRows(chunk, column, done, first_row + done, python_values, is_foreign)
        done += len(chunk)


def conversations_as_texts(table: pa.Table, column: str) -> pa.Table:
    """Return the column of conversations alone; one of JSON, or with JSON in it, as texts of JSON.

    >>> table = pa.table({"c": pa.array([["x"]])})
    >>> conversations_as_texts(table, "c").schema.field("c").type
    ListType(list<item: string>)
    """
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
    """Return the messages of a column's value.

    Args:
        value: A list of dicts, a text that holds such a list as JSON, or an object that has one under `messages` or
            `conversations`.

    Raises:
        ValueError: If the value is none of these, the text isn't JSON, or the object has tools or documents, which the
            template wouldn't see.

    >>> conversation_of('{"id": 7, "messages": [{"role": "user", "content": "Hi."}]}')
    [{'role': 'user', 'content': 'Hi.'}]
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
            message = f"the text is no JSON: {error}"
            raise ValueError(message) from None
    if isinstance(value, dict):
        if value.keys() == {_MARKED}:
            return list(_without_marks(value[_MARKED]))
        for name in _ARGUMENTS:
            if value.get(name):
                message = f"it has {name!r} of its own, which isn't rendered; give tools= or documents= for all rows"
                raise ValueError(message)
        value = next((value[name] for name in _MESSAGES if name in value), value)
    if not isinstance(value, list):
        message = f"expected a list of messages, or an object with {' or '.join(map(repr, _MESSAGES))}, found "
        raise ValueError(message + f"a {type(value).__name__}")
    return value


def json_texts(values: Iterable[Any]) -> list[str | None] | None:
    """Write conversations as JSON that templates see as transformers shows the objects themselves.

    What JSON has no form for, such as a tuple or a key that isn't a text, is written as `_with_marks` does.

    Args:
        values: Lists of messages, objects that have one as `messages`, or what a column of conversations holds.

    Returns:
        The texts; None if a value is no conversation.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Message:
    ...     role: str
    ...     content: str
    >>> json_texts([[Message("user", "Hi."), {"role": "assistant", "content": None}]])
    ['[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": null}]']
    >>> conversation_of(json.loads(json_texts([[{"role": "user", "content": ("Hi.", {1: {2}})}]])[0]))
    [{'role': 'user', 'content': ('Hi.', {1: '<set>'})}]
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

    >>> first, second = with_shared_texts(["a b", "".join(["a", " b"])])
    >>> first is second
    True
    """
    texts = {} if texts is None else texts
    if type(value) is str:
        return texts.setdefault(value, value)
    if type(value) is list:
        return [with_shared_texts(item, texts) for item in value]
    if type(value) is dict:
        return {key: with_shared_texts(item, texts) for key, item in value.items()}
    return value
