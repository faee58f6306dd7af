"""Rows of a column of conversations: as the core reads them, and as Python has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from promptpress import _core
from promptpress._core import RenderError
from promptpress._errors import render_error
from promptpress._tables import Lower, for_core, unsupported_columns

__all__ = ["ConversationRows", "Read", "conversation_of", "conversation_rows", "with_shared_texts"]

NO_SHAPE = 2**32 - 1

_MESSAGES = ("messages", "conversations")
_OWN_ARGUMENTS = ("tools", "functions", "documents")

Read = tuple[pa.Array, pa.Array, list[tuple[int, int]]]
"""The shape of each row, the texts of its holes, and the shapes that occur with the rows of each."""


@dataclass(frozen=True)
class ConversationRows:
    """A chunk of a column of conversations.

    Args:
        chunk: As the core reads it.
        column: The column's name.
        offset: How many rows of the table stand before it.
        first_row: The number of its first row among all.
        lower: Gives Python's values by their numbers in the table.
        is_foreign: Whether the core has no such type, so that Python reads all rows.

    """

    chunk: pa.Array
    column: str
    offset: int
    first_row: int
    lower: Lower
    is_foreign: bool

    def read(self, shapes: _core.ConversationShapes, start: int, count: int) -> Read:
        """Read some rows by the core.

        Args:
            shapes: Those that were met before.
            start: The first row.
            count: How many.

        Raises:
            RenderError: If the column holds no conversations, or is malformed.

        """
        if self.is_foreign:
            return pa.array([NO_SHAPE] * count, pa.uint32()), pa.nulls(count, pa.list_(pa.string())), []
        try:
            return shapes.read(self.chunk, start, count, self.first_row)
        except RenderError as error:
            raise render_error(error.code, error.message, error.row, self.column) from None

    def values(self, numbers: list[int]) -> list[Any]:
        """What some rows hold, as Python has it: see `conversation_of`.

        Args:
            numbers: The rows, in ascending order.

        Raises:
            RenderError: If a value can't be had.

        """
        if not numbers:
            return []
        if self._is_plain:
            rows: list[Any] = pa.concat_arrays([self.chunk.slice(number, 1) for number in numbers]).to_pylist()
            return rows
        values: list[Any] = self.lower(self.column, pa.array([self.offset + n for n in numbers], pa.int64()), True)
        return values

    @cached_property
    def _is_plain(self) -> bool:
        return not self.is_foreign and _is_plain(self.chunk.type)


def conversation_rows(table: pa.Table, column: str, first_row: int) -> Iterator[ConversationRows]:
    """The chunks of a column of conversations, at least one.

    Args:
        table: Holds the column.
        column: Its name.
        first_row: The number of the table's first row.

    """
    table = table.select([column])
    is_foreign = column in unsupported_columns(table.schema)
    core_table, lower = for_core(table, first_row)
    done = 0
    for chunk in core_table.column(0).chunks or [pa.nulls(0, core_table.schema.field(0).type)]:
        yield ConversationRows(chunk, column, done, first_row + done, lower, is_foreign)
        done += len(chunk)


def _is_plain(data_type: pa.DataType) -> bool:
    """Whether the core has checked every value of a type, so that any row can be taken out as it is."""
    types = pa.types
    if types.is_list(data_type) or types.is_large_list(data_type) or types.is_struct(data_type):
        return all(_is_plain(data_type.field(number).type) for number in range(data_type.num_fields))
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        return True
    return bool(types.is_boolean(data_type) or types.is_integer(data_type) or types.is_null(data_type)) or bool(
        types.is_floating(data_type)
    )


def conversation_of(value: Any) -> list[Any]:
    """The messages that a value of the column stands for.

    Args:
        value: A list of dicts, or a text that holds such a list as JSON, or an object that has one under `messages` or
            `conversations`.

    Returns:
        The messages, as they are.

    Raises:
        ValueError: If it is none of these; if the text is no JSON; if the object has tools or documents of its own,
            which the template wouldn't see.

    >>> conversation_of('{"id": 7, "messages": [{"role": "user", "content": "Hi."}]}')
    [{'role': 'user', 'content': 'Hi.'}]

    """
    if value is None:
        raise ValueError("it is null")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except RecursionError:
            raise ValueError("its JSON is nested too deep") from None
        except ValueError as error:
            message = f"the text is no JSON: {error}"
            raise ValueError(message) from None
    if isinstance(value, dict):
        for name in _OWN_ARGUMENTS:
            if value.get(name):
                message = f"it has {name!r} of its own, which isn't rendered; give tools= or documents= for all rows"
                raise ValueError(message)
        value = next((value[name] for name in _MESSAGES if name in value), value)
    if not isinstance(value, list):
        message = f"expected a list of messages, or an object with {' or '.join(map(repr, _MESSAGES))}, found "
        raise ValueError(message + f"a {type(value).__name__}")
    return value


def with_shared_texts(value: Any, known: dict[str, str] | None = None) -> Any:
    """The same, with one object for texts that are equal, as in a conversation that a program has put together.

    A template can tell by `sameas`.

    Args:
        value: Messages.
        known: The texts so far.

    Returns:
        Lists and dicts of their own.

    >>> one, other = with_shared_texts(["a b", "".join(["a", " b"])])
    >>> one is other
    True

    """
    known = {} if known is None else known
    if type(value) is str:
        return known.setdefault(value, value)
    if type(value) is list:
        return [with_shared_texts(item, known) for item in value]
    if type(value) is dict:
        return {key: with_shared_texts(item, known) for key, item in value.items()}
    return value
