"""Chats in bulk: conversations laid out in Arrow, and rendered by a compiled chat template."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._core import RenderError
from promptpress._lm_eval.chat_templates import ManyChats
from promptpress._lm_eval.columns import Column, Constant, Texts, values
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.plain_contexts import plain_contexts
from promptpress._lm_eval.row_numbers import as_sequence
from promptpress._lm_eval.shots import DrawnShots, shot_turns
from promptpress._lm_eval.task import Task

__all__ = ["chat_contexts"]

_ROLES = ("system", "user", "assistant")


def chat_contexts(
    task: Task,
    documents: Documents,
    shots: DrawnShots | None,
    *,
    system: Column,
    text: Column,
    prefix: Column,
    template: ManyChats,
    as_turns: bool,
) -> pa.ChunkedArray | None:
    """Render the chats of documents, where all that is said are texts.

    Args:
        task: The task.
        documents: The documents.
        shots: As `plain_contexts` takes them.
        system: The system messages; none where it is empty.
        text: The documents' own texts.
        prefix: What their answers begin with.
        template: The chat template.
        as_turns: Whether shots are messages of their own.

    Returns:
        The texts; None where only making them one by one shows what they are, or what is wrong.

    """
    count = len(documents)
    before = _said(system)
    opened = _said(prefix)
    if before is None or opened is None or not count:
        return None
    if as_turns:
        question = text.array if isinstance(text, Texts) else None
    else:
        nothing = Constant(None, count)
        question = plain_contexts(task, documents, shots, system=nothing, text=text, prefix=nothing)
    if question is None:
        return None
    said = _Said()
    systems = said.add(before, 0)
    turns: list[list[int]] = []
    drawn: Sequence[int] = ()
    if as_turns and shots is not None:
        drawn = as_sequence(shots.drawn)
        for shot in shot_turns(task, shots.columns):
            turns.append([at for role, content, _ in shot for at in said.add([content], _ROLES.index(role))])
    questions = said.add(question, 1)
    prefixes = said.add(opened, 2)
    conversations = []
    each = len(drawn) // count
    for row in range(count):
        own = [] if before[row % len(before)] == "" else [systems[row % len(systems)]]
        if turns:
            for number in drawn[row * each : (row + 1) * each]:
                own += turns[number]
        own.append(questions[row])
        if opened[row % len(opened)]:
            own.append(prefixes[row % len(prefixes)])
        conversations.append(own)
    try:
        return _rendered(template, said.conversations(conversations), opened)
    except (RenderError, UnicodeEncodeError):
        return None


def _said(column: Column) -> list[str] | None:
    """Return texts, one if it is the same for all; None where a value is no text."""
    own = [column.value] if isinstance(column, Constant) else values(column)
    return [value or "" for value in own] if all(value is None or isinstance(value, str) for value in own) else None


class _Said:
    """All contents of messages, in one row, with the roles that say them."""

    def __init__(self) -> None:
        self._contents: list[pa.Array] = []
        self._loose: list[str] = []
        self._roles = array("b")

    def add(self, contents: Sequence[str] | pa.ChunkedArray, role: int) -> range:
        """Add contents that one role says; return their places."""
        start = len(self._roles)
        if isinstance(contents, pa.ChunkedArray):
            self._flush()
            self._contents += contents.chunks
        else:
            self._loose += contents
        self._roles.extend([role] * len(contents))
        return range(start, start + len(contents))

    def _flush(self) -> None:
        if self._loose:
            self._contents.append(pa.array(self._loose, pa.large_string()))
            self._loose = []

    def conversations(self, places: list[list[int]]) -> pa.Array:
        """Return conversations of contents at their places."""
        self._flush()
        lists = pa.array(places, pa.large_list(pa.int64()))
        flat = lists.flatten()
        contents = pa.chunked_array(self._contents, pa.large_string()).take(flat).combine_chunks()
        roles = pa.Array.from_buffers(pa.int8(), len(self._roles), [None, pa.py_buffer(self._roles)]).take(flat)
        named = pa.array(_ROLES).take(roles)
        messages = pa.StructArray.from_arrays([named, contents], ["role", "content"])
        return pa.LargeListArray.from_arrays(lists.offsets, messages)


def _rendered(template: ManyChats, conversations: pa.Array, opened: list[str]) -> pa.ChunkedArray:
    """Render conversations; those that end with an open message by themselves."""
    flags = [not own for own in opened]
    if len(set(flags)) == 1:
        return template.texts(conversations, flags[0])
    parts = [
        pa.array([row for row, flag in enumerate(flags) if flag is wanted], pa.int64()) for wanted in (True, False)
    ]
    texts = [template.texts(conversations.take(part), at == 0) for at, part in enumerate(parts)]
    order = pa.array(range(len(flags)), pa.int64())
    places = pa.concat_arrays(parts)
    whole = pa.chunked_array([chunk for own in texts for chunk in own.chunks], pa.large_string())
    return whole.take(pc.index_in(order, places))
