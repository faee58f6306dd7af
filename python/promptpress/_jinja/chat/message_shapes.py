"""The shapes of conversations that are Python objects, which the core finds for those in columns."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

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
    """Return the shape of a conversation, and the texts of its slots in their order.

    `skeleton` writes a shape as the core does.

    Args:
        messages: The conversation.
        is_open: True if no list or dict is a single slot.

    Returns:
        None if the messages aren't dicts of JSON's types with a role each, or if a message has a key that is None,
            which transformers drops in one place and keeps in another.

    >>> shape_of([{"role": "user", "content": "Hi."}])
    ((('role', '=user'), 'content', None), ['Hi.'])
    >>> shape_of([{"role": "user", "content": object()}])
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
    """Return the shape of a value, and add the texts of its slots.

    Raises:
        UnreadError: If the value holds something that isn't JSON's.
    """
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
        items = value.items()
        return (
            "dict",
            *[(key, _read(item, _UNDER.get((location, key), _VALUE), texts, is_open)) for key, item in items],
        )
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
    """Return a hashable copy of a value, which is equal for equal values of the same types alone.

    Args:
        value: Made of JSON's types.

    Raises:
        UnreadError: If the value holds something else.

    >>> frozen({"a": [1, True, 1.0]}) == frozen({"a": [1, 1, 1.0]})
    False
    """
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


def skeleton(shape: Shape) -> list[dict[str, Any]]:
    """Return the messages of a shape in the core's form: a string that begins with "=" is a text, others are slots.

    >>> skeleton(shape_of([{"role": "user", "content": [{"type": "text", "text": "Hi."}]}])[0])
    [{'role': '=user', 'content': [{'type': '=text', 'text': '?'}]}]
    """
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
