"""The beginnings of one conversation as texts, of which each turn is rendered once where the template allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptpress._errors.left_out import Kind
from promptpress._jinja.chat.chat_renderer import ChatRenderer, of_value
from promptpress._jinja.chat.conversations import normalised, with_shared_texts
from promptpress._jinja.chat.left_out import Part, covers, doubtful_parts, parts_with_texts
from promptpress._jinja.chat.shape_programs import traced_messages
from promptpress._jinja.loop_memory import MEMORY, LoopMemory
from promptpress._jinja.sandbox.bounds import BUDGET
from promptpress._jinja.traced_values import COMPUTED, TEMPLATE, Origin, joined, known_containers, pieces

_TURNS_OF_MESSAGE = 8
"""Turns of loops that a message is rendered in, if most of its texts come again."""

_TRIED = 4
"""Turns of a conversation whose texts are compared with those of Jinja2."""

_FIELDS = ("message", "source", "column", "example", "role", "path")


class Beginnings:
    """Renders beginnings of a conversation, given the arguments of its row and their columns.

    A rendering may raise any error of the template's, or one of the memory's: then another way has to be taken.
    """

    def __init__(
        self,
        renderer: ChatRenderer,
        conversation: Sequence[dict[str, Any]],
        column: str,
        arguments: Mapping[str, Any],
        columns: Mapping[str, str],
    ) -> None:
        self._renderer = renderer
        self._template = renderer.reference.remembering
        self._given = with_shared_texts(conversation)
        self._column = column
        self._arguments = arguments
        self._columns = columns
        self._containers: dict[int, Origin] = {}
        self._plain = messages = normalised(self._given, renderer.settings.turn_rules)
        self._messages = traced_messages(messages, self._given, column, self._containers)
        self._kept: list[Any] = []
        self._names = renderer.settings.traced_names(self._containers, arguments)
        self._memory = LoopMemory(self._containers, _TURNS_OF_MESSAGE * (len(messages) + _TURNS_OF_MESSAGE))
        parts = parts_with_texts(messages, renderer.settings.data(arguments))
        self._parts: list[list[Part]] = [[] for _ in range(len(messages) + 1)]
        for part, _ in parts:
            self._parts[-1 if part.message is None else part.message].append(part)
        self._covered: dict[int, tuple[str, frozenset[Part] | None]] = {}

    def are_plain_texts(self, turns: Sequence[int]) -> bool:
        """Return true if beginnings, rendered with what others left in the memory, are what Jinja2 renders as a whole.

        Of `turns`, the numbers of the assistant's messages, the last one is tried, then some before it.
        """
        tried = dict.fromkeys(turns[len(turns) * part // _TRIED - 1] for part in range(_TRIED, 0, -1))
        for number in tried:
            for count, asks in ((number + 1, False), (number, True)):
                arguments = {**self._arguments, "add_generation_prompt": asks}
                plain = self._renderer.text(self._given[:count], arguments)
                if self.rendered(count, asks=asks).text != plain:
                    return False
        return True

    def rendered(self, count: int, *, asks: bool, last: dict[str, Any] | None = None) -> Beginning:
        """Render the first messages, with the prompt for a next one if it `asks`; `last` replaces the last of them."""
        assert self._template is not None
        messages = self._messages[:count]
        if last is not None:
            normal = normalised([last], self._renderer.settings.turn_rules)
            messages[-1:] = traced_messages(normal, [last], self._column, self._containers, count - 1)
            self._kept.append(messages[-1])  # which the memory knows by its id
        names = {**self._names, "messages": messages, "add_generation_prompt": asks}
        BUDGET.start(names)
        with known_containers(self._containers):
            context = self._template.new_context({**names, MEMORY: self._memory})
            return Beginning(self, count, list(self._template.root_render_func(context)))

    def of_value(self, origin: Origin | None) -> Origin | None:
        """Return the origin of the whole value that a part belongs to."""
        return None if origin is None else of_value(origin, self._columns)

    def lacking(self, count: int, text: str, texts: Sequence[str]) -> list[Kind]:
        """Return the kinds of what a text of the first messages lacks, except what is said in earlier turns."""
        written: set[Part] = set()
        for each in texts:
            covered = self._covered_by(each)
            if covered is None:
                return []
            written |= covered
        missing = [
            part
            for parts in (*self._parts[:count], self._parts[-1])
            for part in parts
            if part not in written and not (part.role == "assistant" and part.message != count - 1)
        ]
        settings = self._renderer.settings
        arguments = settings.data(self._arguments)
        doubtful = doubtful_parts(self._plain[:count], arguments, text, settings.source) if missing else ()
        return sorted({kind for part in missing if part in doubtful for kind in part.kinds(count, settings.source)})

    def _covered_by(self, text: str) -> frozenset[Part] | None:
        """Return the parts of which a text has bytes; None if it may have those of any."""
        cached = self._covered.get(id(text))
        if cached is not None and cached[0] is text:
            return cached[1]
        origins = {self.of_value(origin) for _, origin in pieces(text)} - {None}
        parts = None
        if COMPUTED not in origins:
            paths = {(origin.message, origin.path or "") for origin in origins if origin is not None}
            parts = frozenset(
                part for path in paths for part in self._parts[-1 if path[0] is None else path[0]] if covers(path, part)
            )
        self._covered[id(text)] = text, parts
        return parts


class Beginning:
    """The text of the first messages of a conversation, in pieces."""

    def __init__(self, owner: Beginnings, count: int, texts: list[str]) -> None:
        self._owner = owner
        self._count = count
        self._texts = texts
        self.text = "".join(texts)

    def lacking_kinds(self) -> list[Kind]:
        """Return the kinds of what the text lacks, except what is said in earlier turns."""
        return self._owner.lacking(self._count, self.text, self._texts)

    def last_spans(self, number: int) -> list[dict[str, Any]]:
        """Return the spans at the end of the text that begin after those of all messages but one."""
        tail: list[tuple[str, Origin | None]] = []
        is_ended = False
        for text in reversed(self._texts):
            for piece, origin in reversed(pieces(text)):
                is_ended = origin is not None and origin.message not in (None, number)
                if is_ended:
                    break
                tail.append((piece, self._owner.of_value(origin)))
            if is_ended:
                break
        tail_pieces = pieces(joined(tail[::-1]))
        start = len(self.text.encode()) - sum(len(piece.encode()) for piece, _ in tail_pieces)
        spans = []
        for piece, origin in tail_pieces:
            end = start + len(piece.encode())
            source = TEMPLATE if origin is None else origin
            spans.append({"start": start, "end": end, **{name: getattr(source, name, None) for name in _FIELDS}})
            start = end
        return spans
