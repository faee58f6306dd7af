"""Contexts of chats in bulk: conversations laid out in Arrow and rendered by a compiled chat template."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import pyarrow as pa
from promptpress.engine.core import RenderError
from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.columns import Column, Constant, Texts, values
from promptpress_harness.lm_eval.plain_contexts import ContextColumns, plain_contexts
from promptpress_harness.lm_eval.row_numbers import as_array, as_sequence
from promptpress_harness.lm_eval.shots import shot_turns
from promptpress_harness.lm_eval.task import Task

if TYPE_CHECKING:
    from promptpress import ChatTemplate
    from promptpress.engine.templates import ChatRenderer

ChatFunction: TypeAlias = Union[Callable[..., str], "ChatTemplate"]
"""Makes a text of a list of messages; it is also called with `add_generation_prompt`."""
_ROLES = ("system", "user", "assistant")


class ManyChats:
    """Applies a `ChatTemplate` as the harness's Hugging Face model applies its tokenizer's template.

    Without a generation prompt, the last message is left open. If the template refuses a conversation, it is applied
    once more without the system message.

    Args:
        template: The template. Its settings `add_generation_prompt` and `continue_final_message` are ignored.
    """

    def __init__(self, template: ChatTemplate) -> None:
        from promptpress.engine.templates import ChatRenderer, ChatSettings  # noqa: PLC0415 - needs Jinja2

        settings = template.__getstate__()["settings"]
        self._renderers: dict[bool, ChatRenderer] = {}
        for prompted in (False, True):
            end = {"add_generation_prompt": prompted, "continued": None if prompted else "content"}
            self._renderers[prompted] = ChatRenderer(ChatSettings(**{**settings, **end}))

    def __call__(self, messages: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        """Render one conversation."""
        from jinja2 import TemplateError  # noqa: PLC0415 - needs Jinja2

        renderer = self._renderers[add_generation_prompt]
        try:
            return renderer.text(messages)
        except TemplateError:
            return renderer.text([message for message in messages if message["role"] != "system"])

    def texts(self, conversations: pa.Array, add_generation_prompt: bool) -> pa.ChunkedArray:
        """Render many conversations; raise RenderError if the template refuses one."""
        from promptpress.engine.templates import JinjaRun  # noqa: PLC0415 - needs Jinja2

        table = pa.table({"messages": conversations})
        parts = self._renderers[add_generation_prompt].texts(table, "messages", 0, "large_string", JinjaRun())
        return pa.chunked_array([texts for texts, _ in parts], pa.large_string())


def chat_function(template: ChatFunction | None) -> Callable[..., str] | None:
    """Return the function that is called with a conversation; None if there is no template."""
    module = sys.modules.get("promptpress._renderers.templates")
    return ManyChats(template) if module is not None and isinstance(template, module.ChatTemplate) else template


def chat_contexts(
    task: Task, columns: ContextColumns, count: int, template: ManyChats, as_turns: bool
) -> pa.ChunkedArray | None:
    """Return the chats of documents, if all contents of messages are texts.

    Args:
        task: The task.
        columns: The parts of the contexts.
        count: Number of documents.
        template: The chat template.
        as_turns: Whether shots are messages of their own.

    Returns:
        The texts; None if they have to be made one by one, to see what they are or which error the harness raises.
    """
    systems, prefixes = _texts(columns.system), _texts(columns.prefix)
    if systems is None or prefixes is None or not count:
        return None
    if as_turns:
        questions = columns.text.array if isinstance(columns.text, Texts) else None
    else:
        empty = Constant(None, count)
        questions = plain_contexts(task, replace(columns, system=empty, prefix=empty), count)
    if questions is None:
        return None
    shots = columns.shots if as_turns else None
    turns = [] if shots is None else shot_turns(task, shots.columns)
    drawn = () if shots is None else as_sequence(shots.drawn)
    # All contents are laid out one after the other: systems, the messages of shots, questions, prefixes.
    shot_ends = list(accumulate(map(len, turns), initial=len(systems)))
    first_prefix = shot_ends[-1] + count
    conversations = []
    shots_each = len(drawn) // count
    for row in range(count):
        conversation = [row % len(systems)] if systems[row % len(systems)] else []
        for shot in drawn[row * shots_each : (row + 1) * shots_each]:
            conversation += range(shot_ends[shot], shot_ends[shot + 1])
        conversation.append(shot_ends[-1] + row)
        if prefixes[row % len(prefixes)]:
            conversation.append(first_prefix + row % len(prefixes))
        conversations.append(conversation)
    shot_messages = [message for shot in turns for message in shot]
    shot_roles = [_ROLES.index(role) for role, _, _ in shot_messages]
    roles = array("b", [0] * len(systems) + shot_roles + [1] * count + [2] * len(prefixes))
    try:
        before = pa.array([*systems, *(content for _, content, _ in shot_messages)], pa.large_string())
        contents = [before, *questions.chunks, pa.array(prefixes, pa.large_string())]
        return _rendered(template, _as_lists(conversations, contents, roles), prefixes)
    except (RenderError, UnicodeEncodeError):
        return None


def _texts(column: Column) -> list[str] | None:
    """Return a column's texts, a single one if all are the same; None if a value isn't a text."""
    texts = [column.value] if isinstance(column, Constant) else values(column)
    return [text or "" for text in texts] if all(text is None or isinstance(text, str) for text in texts) else None


def _as_lists(conversations: list[list[int]], contents: list[pa.Array], roles: array[int]) -> pa.Array:
    """Return conversations, given as the numbers of their contents, as lists of messages."""
    lists = pa.array(conversations, pa.large_list(pa.int64()))
    numbers = lists.flatten()
    columns = [
        pa.array(_ROLES).take(as_array(roles).take(numbers)),
        pa.chunked_array(contents, pa.large_string()).take(numbers).combine_chunks(),
    ]
    return pa.LargeListArray.from_arrays(lists.offsets, pa.StructArray.from_arrays(columns, ["role", "content"]))


def _rendered(template: ManyChats, conversations: pa.Array, prefixes: list[str]) -> pa.ChunkedArray:
    """Render conversations; a conversation that ends with a prefix gets no generation prompt."""
    prompted = [not prefix for prefix in prefixes]
    if len(set(prompted)) == 1:
        return template.texts(conversations, prompted[0])
    chunks: list[pa.Array] = []
    rows = []
    for is_prompted in (True, False):
        rows.append(pa.array([row for row, flag in enumerate(prompted) if flag is is_prompted], pa.int64()))
        chunks += template.texts(conversations.take(rows[-1]), is_prompted).chunks
    return pa.chunked_array(chunks, pa.large_string()).take(pc.array_sort_indices(pa.concat_arrays(rows)))
