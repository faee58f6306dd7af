"""Columns of messages as members of request bodies, in the form of a service that isn't OpenAI's own.

Messages that have a role and a text alone are written by the core, others one by one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine.errors import render_error
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.export.chat_messages import Prompts, holds_texts
from promptpress_workbench.export.services import MOST_MARKS, SYSTEM, RefusedError, Service
from promptpress_workbench.files.write.json_lines import LineWriter, Piece

MARKS = "cache_marks"
"""The column with the numbers, from 1 on, of the messages that end a cached beginning."""

_ROLES = ("user", "assistant", *SYSTEM)
"""The roles of messages that the core writes."""


class MessageMembers:
    """Converts batches of prompts into the members of a body that hold the messages, as JSON."""

    def __init__(self, service: Service, prompts: Prompts, *, has_system: bool) -> None:
        self._service = service
        self._prompts = prompts
        self._has_system = has_system
        self._is_plain = prompts.form == "text" or (prompts.form == "messages" and _are_texts(prompts.type.value_type))
        self._heads, self._tails = self._frames() if self._is_plain else ([], [])
        pieces = [Piece("plain", column="head"), Piece("value", column="content"), Piece("plain", column="tail")]
        texts = pa.dictionary(pa.int32(), pa.string())
        self._schema = pa.schema([("head", texts), ("content", pa.large_string()), ("tail", texts)])
        self._writer = LineWriter(self._schema, pieces)

    def texts(self, column: pa.Array, marks: pa.Array | None, first_row: int) -> pa.Array:
        """Return the members of a batch's rows."""
        if self._is_plain and len(column):
            messages = self._prompts.as_messages(column, first_row)
            texts = self._of_plain(messages, marks)
            if texts is not None:
                return texts
            rows: Sequence[Any] = to_pylist(messages)
        elif self._prompts.form == "messages_json":
            rows = [json.loads(text) for text in self._prompts.converted(column, first_row).to_pylist()]
        else:
            rows = to_pylist(self._prompts.converted(column, first_row))
        of_rows = [()] * len(rows) if marks is None else marks.to_pylist()
        out = []
        for row, (messages, numbers) in enumerate(zip(rows, of_rows, strict=True), first_row):
            try:
                out.append(self._service.members(messages, numbers or (), has_system=self._has_system))
            except RefusedError as error:
                raise render_error(error.code, str(error), row, self._prompts.name) from None
        return pa.array(out, pa.large_string())

    def _frames(self) -> tuple[list[str], list[str]]:
        """Return the texts before and after a message's text, by role, and whether it is marked, the first, the last.

        The system prompt is a member of its own in some services, and so begins no list.
        """
        heads, tails = [], []
        for role in _ROLES:
            for marked in (False, True):
                has_mark = self._service.mark and (role != "assistant" or self._service.marks_assistants)
                head, tail = self._service.frame(role, marked=marked and bool(has_mark))
                apart = self._service.system if role in SYSTEM else None
                for is_first in (False, True):
                    for is_last in (False, True):
                        start = f'"{self._service.prompts}": [' if is_first else ", "
                        heads.append(f"{start}{head}" if apart is None else f'"{apart}": {head}')
                        tails.append(f"{tail}{']' if is_last else ''}" if apart is None else f"{tail}, ")
        return heads, tails

    def _of_plain(self, messages: pa.Array, marks: pa.Array | None) -> pa.Array | None:
        """Return the members of messages that are texts; None if a row has one that needs a closer look."""
        items, rows = messages.flatten(), pc.list_parent_indices(messages)
        contents, names = items.field("content"), items.field("role")
        names = names.dictionary_decode() if types.is_dictionary(names.type) else names
        roles = pc.index_in(names.cast(pa.string()), pa.array(_ROLES))
        if contents.null_count or roles.null_count or len(messages) != pc.count_distinct(rows).as_py():
            return None
        contents = contents.dictionary_decode() if types.is_dictionary(contents.type) else contents
        contents = contents.cast(pa.large_string())
        if not self._service.takes_blank and pc.any(pc.equal(pc.utf8_trim_whitespace(contents), "")).as_py():
            return None
        changes = pc.not_equal(rows.slice(1), rows.slice(0, len(rows) - 1))
        edge = pa.array([True])
        begins, is_last = pa.concat_arrays([edge, changes]), pa.concat_arrays([changes, edge])
        is_first = begins
        if self._service.system is not None:
            is_apart = pc.greater_equal(roles, _ROLES.index(SYSTEM[0]))
            misplaced = pc.and_(is_apart, pc.or_(is_last, pc.invert(begins)))
            if pc.any(misplaced).as_py() or (self._has_system and pc.any(is_apart).as_py()):
                return None
            after = pa.concat_arrays([pa.array([False]), is_apart.slice(0, len(rows) - 1)])
            is_first = pc.or_(begins, after)
        is_marked: Any = pa.scalar(value=False)
        if marks is not None:
            is_marked = self._marked(messages, rows, marks)
            says = pc.equal(roles, _ROLES.index("assistant"))
            if is_marked is None or (not self._service.marks_assistants and pc.any(pc.and_(is_marked, says)).as_py()):
                return None
        index = pc.multiply(roles, 8)
        for flag, weight in ((is_marked, 4), (is_first, 2), (is_last, 1)):
            index = pc.add(index, pc.if_else(flag, pa.scalar(weight, pa.int32()), pa.scalar(0, pa.int32())))
        columns = [
            pa.DictionaryArray.from_arrays(index, pa.array(self._heads)),
            contents,
            pa.DictionaryArray.from_arrays(index, pa.array(self._tails)),
        ]
        lines = pa.concat_arrays(self._writer.lines(pa.RecordBatch.from_arrays(columns, schema=self._schema)))
        return _joined(lines, messages)

    @staticmethod
    def _marked(messages: pa.Array, rows: pa.Array, marks: pa.Array) -> pa.Array | None:
        """Return which messages are marked; None if a mark is of no message."""
        numbers = marks.flatten().cast(pa.int64())
        of_marks = pc.list_parent_indices(marks)
        starts = messages.offsets.cast(pa.int64()).slice(0, len(messages))
        indices = pc.add(starts.take(of_marks), pc.subtract(numbers, 1 + messages.offsets[0].as_py()))
        lengths = pc.list_value_length(messages).cast(pa.int64()).take(of_marks)
        is_there = pc.and_(pc.greater_equal(numbers, 1), pc.less_equal(numbers, lengths))
        most = pc.max(pc.list_value_length(marks)).as_py() or 0
        if numbers.null_count or most > MOST_MARKS or not pc.all(is_there, min_count=0).as_py():
            return None
        return pc.is_in(pa.array(range(len(rows)), pa.int64()), indices)


def _are_texts(kind: pa.DataType) -> bool:
    """Return true for structs of a role and a text alone."""
    return {item.name for item in kind} == {"role", "content"} and holds_texts(kind.field("content").type)


def _joined(lines: pa.Array, messages: pa.Array) -> pa.Array:
    """Return a text for each row of messages, whose texts follow each other in memory: nothing is copied."""
    _, offsets, data = lines.buffers()
    starts = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, offsets], offset=lines.offset)
    of_rows = pc.subtract(messages.offsets, messages.offsets[0])
    bounds = starts.take(of_rows)
    return pa.LargeStringArray.from_buffers(len(messages), bounds.buffers()[1], data)
