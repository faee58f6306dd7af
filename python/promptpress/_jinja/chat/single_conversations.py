"""Single conversations of Python's values, which the programs that tables have compiled render without a table."""

from __future__ import annotations

import json
from typing import Any

from promptpress._arrow.python_rows import nested_too_deeply
from promptpress._errors.left_out import Refusal
from promptpress._jinja.chat.conversation_texts import MAX_SHAPES, Shape, shape_of, skeleton
from promptpress._jinja.chat.left_out import Kinds
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.chat.shape_programs import OPEN_ALL, ShapeProgram, ShapePrograms
from promptpress._jinja.run import CHECKED_ONE_IN, JinjaRun


class SingleConversations:
    """Renders single conversations by the programs of one template, with the counts of a table of one row."""

    def __init__(self, programs: ShapePrograms, settings: ChatSettings, kinds: Kinds) -> None:
        self._programs = programs
        self._kinds = kinds
        self._call_roles = frozenset(settings.turn_rules.call_roles)
        self._is_readable = not (settings.decode_arguments or settings.argument_columns or settings.refuse)
        self._of_shapes: dict[Shape, tuple[int, ShapeProgram]] = {}

    def rendered(self, conversation: Any) -> tuple[str, JinjaRun] | None:
        """Return the text of a conversation and the counts of the run; None if it has to be rendered as a table."""
        programs = self._programs
        is_checked = not programs.seen % CHECKED_ONE_IN  # by Jinja2
        if not self._is_readable or type(conversation) is not list or is_checked:
            return None
        read = shape_of(conversation, is_open=programs.looks_inside == OPEN_ALL)
        match = read and (self._of_shapes.get(read[0]) or self._match(read[0], conversation))
        if read is None or match is None or match[1].program is None:
            return None
        # A table's values may be nested only so deep.
        is_flat = all(type(value) is str for message in conversation for value in message.values())
        if not is_flat and nested_too_deeply([conversation]):
            return None
        rendered = match[1].program.row(read[1])
        if rendered is None:
            return None
        programs.count(match[0])
        text, lacking = rendered
        counts, _ = self._kinds.count([(key, 1, [0]) for key in lacking], 0, Refusal())
        return text, JinjaRun(1, 1, lacking=counts)

    def _match(self, shape: Shape, conversation: list[Any]) -> tuple[int, ShapeProgram] | None:
        """Return the number and the program of a shape that tables have compiled."""
        if any(type(role := message["role"]) is str and role.lower() in self._call_roles for message in conversation):
            return None  # the core looks for calls in the texts of such messages
        match = self._programs.of_skeleton(json.dumps(skeleton(shape), separators=(",", ":"), ensure_ascii=False))
        if len(self._of_shapes) >= MAX_SHAPES:
            self._of_shapes.clear()
        if match is not None:
            self._of_shapes[shape] = match
        return match
