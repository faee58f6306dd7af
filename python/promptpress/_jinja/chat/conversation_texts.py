"""Renders conversations that are Python objects, one at a time, by programs that are compared with an original."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import promptpress._core as _core
from promptpress._core import TemplateError
from promptpress._jinja.chat.arguments import LISTS
from promptpress._jinja.chat.conversations import plain
from promptpress._jinja.chat.settings import ChatSettings, document_list, tool_schemas
from promptpress._jinja.chat.shape_programs import OPEN_ALL, ShapePrograms
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import CHECKED_ONE_IN

MAX_MESSAGES = 512
"""The largest number of messages that are read."""

_MAX_INT = 2**63

# The locations of values, and what is read as a single slot there, as in the core's `conversations/location.rs`.
_NAME, _CONTENT, _PART, _CALLS, _CALL, _VALUE = range(6)
_OF_KEY = {
    **dict.fromkeys(("role", "from"), _NAME),
    **dict.fromkeys(("content", "value"), _CONTENT),
    "tool_calls": _CALLS,
    "function_call": _CALL,
}
_UNDER = {(_PART, "type"): _NAME, (_CALL, "type"): _NAME, (_CALL, "function"): _CALL}
_ITEM = {_CONTENT: _PART, _CALLS: _CALL}
_CLOSED_DICTS = frozenset({_NAME, _CONTENT, _VALUE})
_OPEN_LISTS = frozenset({_CONTENT, _CALLS})

Shape = tuple[Hashable, ...]


class UnreadError(Exception):
    """Raised for a value that isn't read, because it isn't made of JSON's types alone."""


def shape_of(messages: list[Any], *, is_open: bool = False) -> tuple[Shape, list[str]] | None:
    """Return the shape of a conversation and the texts of its slots; with `is_open`, no list or dict is a single slot.

    `skeleton` writes a shape as the core does. The result is None if the messages aren't dicts of JSON's types with a
    role each, or if a message has a key that is None, which transformers drops in one place and keeps in another.
    """
    if not messages or len(messages) > MAX_MESSAGES:
        return None
    shape: list[Hashable] = []
    texts: list[str] = []
    try:
        for message in messages:
            if type(message) is not dict or "role" not in message:
                return None
            for name, value in message.items():
                if type(name) is not str or value is None:
                    return None
                location = _OF_KEY.get(name, _VALUE)
                if type(value) is str and location != _NAME:
                    shape.append(name)
                    texts.append(value)
                else:
                    shape.append((name, _read(value, location, texts, is_open)))
            shape.append(None)
    except (UnreadError, RecursionError):
        return None
    return tuple(shape), texts


def _read(  # noqa: PLR0911 - a return for each kind of value
    value: Any, location: int, texts: list[str], is_open: bool
) -> Hashable:
    """Return the shape of a value, and add the texts of its slots; raise UnreadError for what isn't JSON's."""
    kind = type(value)
    if kind is str:
        if location == _NAME:
            return f"={value}"
        texts.append(value)
        return "?"
    if value is None or kind is bool:
        return (kind.__name__, value)
    if kind is dict:
        if value and not is_open and location in _CLOSED_DICTS:
            texts.append(_json(value))
            return "{"
        if not all(type(key) is str for key in value):
            raise UnreadError
        below_keys = {key: _UNDER.get((location, key), _VALUE) for key in value}
        return ("dict", *[(key, _read(item, below_keys[key], texts, is_open)) for key, item in value.items()])
    if kind is list:
        if value and not is_open and location not in _OPEN_LISTS:
            texts.append(_json(value))
            return "["
        below = _ITEM.get(location, _VALUE)
        return ("list", *[_read(item, below, texts, is_open) for item in value])
    texts.append(_json(value))
    return "i" if kind is int else "f"


def _json(value: Any) -> str:
    """Write a value of JSON's types."""
    frozen(value)
    return json.dumps(value, ensure_ascii=False)


def frozen(value: Any) -> Hashable:
    """Return a hashable copy of a value of JSON's types, which is equal for equal values of the same types alone."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise UnreadError
        return ("dict", *[(key, frozen(item)) for key, item in value.items()])
    if kind is list:
        return ("list", *map(frozen, value))
    if value is None or kind is bool or (kind is int and -_MAX_INT <= value < _MAX_INT):
        return (kind.__name__, value)
    if kind is float:
        written = repr(value)
        if written[-1].isdigit():
            return ("float", written)
    raise UnreadError


def skeleton(shape: Any) -> Any:
    """Return a shape in the core's form: a string that begins with "=" is a text, others are slots."""
    if isinstance(shape[-1], tuple):  # that of messages ends with None
        of_messages, of_lists = shape
        return {"messages": skeleton(of_messages), "arguments": {name: _written(items) for name, items in of_lists}}
    messages: list[dict[str, Any]] = []
    message: dict[str, Any] = {}
    for item in shape:
        if item is None:
            messages.append(message)
            message = {}
        elif isinstance(item, str):
            message[item] = "?"
        else:
            pair: Any = item
            message[pair[0]] = _written(pair[1])
    return messages


def _written(shape: Any) -> Any:
    if isinstance(shape, str):
        return shape
    kind, *items = shape
    if kind == "dict":
        return {key: _written(item) for key, item in items}
    return [_written(item) for item in items] if kind == "list" else items[0]


WORTHWHILE_CONVERSATIONS = 32
"""Conversations after which their shape is compiled: Jinja2 renders 10 to 70 in the time that compiling takes."""
MAX_TEMPLATES = 64
"""Templates with their arguments that are kept; a further one takes the place of the oldest."""
MAX_SHAPES = 1_000
"""Shapes that are kept for one template."""
MAX_COUNTED = 1 << 16
"""Shapes that are counted before they are compiled."""

Original = Callable[[Any], str]
"""Renders a conversation as it was before."""

_CLOCK = "strftime_now"
_CLOCK_USE = re.compile(r"""strftime_now(?:\s+is\s+(?:not\s+)?defined|\(\s*(['"])(?P<format>[^'"\\]*)\1\s*\))""")
"""A question if there is a clock, or a call with a constant format."""

_logger = logging.getLogger("promptpress.transformers")


class TemplateCall(NamedTuple):
    """A template with the arguments of `apply_chat_template` and its variables.

    `key` is equal for equal sources, arguments and times that the template reads; `now` is None if it reads no clock.
    `lists` are tools and documents, whose shape belongs to that of a conversation; `shapes` has what is known of it.
    """

    key: Hashable
    source: str
    arguments: Mapping[str, Any]
    now: datetime | None
    lists: Mapping[str, list[Any]]
    shapes: dict[int, tuple[Shape, list[str]]]

    def read(self, messages: list[Any], opening: int) -> tuple[Shape, list[str]] | None:
        """Return the shape of a conversation with the lists, and the texts of the slots; None as `shape_of`."""
        of_messages = shape_of(messages, is_open=opening == OPEN_ALL)
        if of_messages is None or not self.lists:
            return of_messages
        if opening not in self.shapes:
            texts: list[str] = []
            location = _CALL if opening else _VALUE
            read = [
                (name, ("list", *[_read(item, location, texts, opening == OPEN_ALL) for item in items]))
                for name, items in self.lists.items()
            ]
            self.shapes[opening] = tuple(read), texts
        of_lists, texts = self.shapes[opening]
        return (of_messages[0], of_lists), [*of_messages[1], *texts]


@dataclass
class _CompiledShape:
    """The program of a shape; None if the original renders all conversations of the shape."""

    program: _core.JinjaProgram | None
    is_trusted: bool = False
    conversations: int = 0


class _Template:
    """The shapes of a template with certain arguments; without programs if it can't be compiled."""

    def __init__(self, settings: ChatSettings | None) -> None:
        self.shapes: dict[Shape, _CompiledShape] = {}
        self.looks_inside = 0
        self._programs: ShapePrograms | None = None
        if settings is not None:
            with suppress(TemplateError):
                self._programs = ShapePrograms(Reference(settings.source, settings.environment, settings.now), settings)

    def compile(self, shape: Shape) -> _CompiledShape:
        """Compile a shape."""
        programs = self._programs
        if programs is None or programs.is_exhausted:
            return _CompiledShape(None)
        compiled = programs.compile(json.dumps(skeleton(shape)))
        self.looks_inside = max(self.looks_inside, compiled.wants_inside)
        return _CompiledShape(compiled.program)


class ConversationTexts:
    """Renders conversations with the texts that an original function gives, and mostly without calling it.

    The original renders a conversation whose shape has been met few times. Then the template is compiled for the shape,
    and both render the next conversation. If the texts are equal, the program renders all that follow, and one in some
    thousand is compared again. If they differ, the original renders all conversations of the shape. It also renders
    what can't be compiled or read, and raises all errors. Threads may share an object.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._templates: dict[Hashable, _Template] = {}
        self._counts: dict[int, int] = {}

    def call(
        self, source: str, arguments: Mapping[str, Any], clock: Callable[[], datetime] | None = None
    ) -> TemplateCall | None:
        """Return a template with its arguments, for `text`; None if only the original renders it.

        Without a clock, only the original renders templates that read the time.
        """
        now, times = None, None
        if _CLOCK in source:
            formats = _time_formats(source)
            now = clock() if clock is not None and formats is not None else None
            if type(now) is not datetime or formats is None:
                return None
            try:
                times = [now.strftime(text) for text in formats]
            except ValueError:
                return None
        try:
            frozen_arguments = {name: frozen(value) for name, value in arguments.items()}
        except (UnreadError, RecursionError):
            return None
        lists: dict[str, Any] = {name: arguments[name] for name in LISTS if _are_dicts(arguments.get(name))}
        key = (source, frozen(times), *[item for item in frozen_arguments.items() if item[0] not in lists])
        return TemplateCall(key, source, arguments, now, lists, {})

    def text(self, call: TemplateCall, conversation: Any, original: Original) -> str | None:
        """Return the text of a conversation; None if only `original` renders conversations like it."""
        if type(conversation) is not list:
            return None
        template = self._templates.get(call.key)
        read = call.read(conversation, 0 if template is None else template.looks_inside)
        if read is None:
            return None
        shape, texts = read
        compiled = None if template is None else template.shapes.get(shape)
        if compiled is None:
            compiled = self._counted(call, shape)
            if compiled is None:
                return original(conversation)
        program = compiled.program
        if program is None:
            return None
        compiled.conversations += 1
        if compiled.is_trusted and compiled.conversations % CHECKED_ONE_IN:
            rendered = program.row(texts)
            return None if rendered is None else rendered[0]
        expected = original(conversation)
        rendered = program.row(texts)
        if rendered is not None:
            compiled.is_trusted = rendered[0] == expected
            if not compiled.is_trusted:
                compiled.program = None
                _logger.warning("a program differs from the chat template, which renders its shape from now on")
        return expected

    def _counted(self, call: TemplateCall, shape: Shape) -> _CompiledShape | None:
        """Count a conversation; return its compiled shape if it occurs often enough."""
        number = hash((call.key, shape))
        with self._lock:
            if len(self._counts) >= MAX_COUNTED:
                self._counts.clear()
            self._counts[number] = count = self._counts.get(number, 0) + 1
            if count < WORTHWHILE_CONVERSATIONS:
                return None
            del self._counts[number]
            template = self._templates.get(call.key)
            if template is None:
                template = _Template(_settings(call))
                _make_room(self._templates, MAX_TEMPLATES)
                self._templates[call.key] = template
            compiled = template.shapes.get(shape)
            if compiled is None:
                compiled = template.compile(shape)
                _make_room(template.shapes, MAX_SHAPES)
                template.shapes[shape] = compiled
            return compiled


def _are_dicts(value: Any) -> bool:
    """Return true for a list of dicts that isn't empty."""
    return type(value) is list and bool(value) and all(type(item) is dict for item in value)


def _make_room(kept: dict[Any, Any], limit: int) -> None:
    """Drop the oldest entries so that one more fits."""
    while len(kept) >= limit:
        del kept[next(iter(kept))]


@lru_cache(maxsize=MAX_TEMPLATES)
def _time_formats(source: str) -> tuple[str, ...] | None:
    """Return the formats in which a template reads the clock; None if they aren't all constants."""
    uses = list(_CLOCK_USE.finditer(source))
    if len(uses) != source.count(_CLOCK):
        return None
    return tuple(use["format"] for use in uses if use["format"] is not None)


def _settings(call: TemplateCall) -> ChatSettings | None:
    """Return the settings of a template; None if the original refuses them."""
    variables = {name: value for name, value in call.arguments.items() if name not in call.lists}
    continued = variables.pop("continue_final_message", False)
    try:
        return ChatSettings(
            source=call.source,
            environment="transformers",
            fallback="jinja2",
            tools=tool_schemas(variables.pop("tools", None)),
            documents=document_list(variables.pop("documents", None)),
            add_generation_prompt=variables.pop("add_generation_prompt", False),
            continued=(continued if isinstance(continued, str) else "content") if continued else None,
            now=call.now,
            variables=plain(variables),
        )
    except TemplateError:
        return None
