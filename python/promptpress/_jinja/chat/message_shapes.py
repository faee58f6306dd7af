"""The shapes of conversations that are Python objects, which the core finds for those in columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

MAX_MESSAGES = 512
"""The largest number of messages that are read."""

_TEXTS = frozenset({"content", "value", "reasoning_content", "thinking", "reasoning"})
"""The keys of a message whose texts are slots, as in the core's `conversations/location.rs`."""
_SLOT = Ellipsis
"""Stands for the text of a slot within a value."""
_MAX_INT = 2**63

# Where a value lies, which decides what texts in it are slots.
_SHAPE, _CONTENT, _PART, _TEXT, _CALLS, _CALL = range(6)
_UNDER = {
    (_PART, "text"): _TEXT,
    (_PART, "thinking"): _TEXT,
    (_CALL, "function"): _CALL,
    (_CALL, "arguments"): _TEXT,
}
_ITEM = {_CONTENT: _PART, _CALLS: _CALL}
_OF_KEY = {"content": _CONTENT, "value": _CONTENT, "tool_calls": _CALLS, "function_call": _CALL}

Shape = tuple[Hashable, ...]


class UnreadError(Exception):
    """Raised for a value that isn't read, because it isn't made of JSON's types alone."""


def shape_of(messages: list[Any]) -> tuple[Shape, list[str]] | None:
    """Return the shape of a conversation, and the texts of its slots in their order.

    The shape of a conversation is all of it except the texts. `skeleton` writes a shape as the core does.

    Returns:
        None if the messages aren't dicts of JSON's types with a role each, or if a message has a key that is None,
            which transformers drops in one place and keeps in another.

    >>> shape_of([{"role": "user", "content": "Hi."}])
    ((('role', 'user'), 'content', None), ['Hi.'])
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
                if type(value) is not str:
                    shape.append((name, frozen(value, _OF_KEY.get(name, _SHAPE), texts)))
                elif name in _TEXTS:
                    shape.append(name)
                    texts.append(value)
                else:
                    shape.append((name, value))
            shape.append(None)
    except (UnreadError, RecursionError):
        return None
    return tuple(shape), texts


def frozen(value: Any, location: int = _SHAPE, texts: list[str] | None = None) -> Hashable:
    """Return a hashable copy of a value, which is equal for equal values of the same types alone.

    Args:
        value: Made of JSON's types.
        location: Where the value lies in a message, if it does.
        texts: Receives the texts of slots.

    Raises:
        UnreadError: If the value holds something else.

    >>> frozen({"a": [1, True, 1.0]}) == frozen({"a": [1, 1, 1.0]})
    False
    """
    kind = type(value)
    if kind is str:
        if location in {_TEXT, _CONTENT, _PART} and texts is not None:
            texts.append(value)
            return _SLOT
        return value  # type: ignore[no-any-return]
    if kind is dict:
        items: list[Hashable] = ["dict"]
        for key, item in value.items():
            if type(key) is not str:
                raise UnreadError
            items.append((key, frozen(item, _UNDER.get((location, key), _SHAPE), texts)))
        return tuple(items)
    if kind is list:
        below = _ITEM.get(location, _SHAPE)
        return ("list", *[frozen(item, below, texts) for item in value])
    if value is None or kind is bool or (kind is int and -_MAX_INT <= value < _MAX_INT):
        return (kind.__name__, value)
    if kind is float:
        written = repr(value)
        if written[-1].isdigit():
            return ("float", written)
    raise UnreadError


def skeleton(shape: Shape) -> list[dict[str, Any]]:
    """Return the messages of a shape in the core's form: "?" is a slot, and another string begins with "=".

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
            message[pair[0]] = _thawed(pair[1])
    return messages


def _thawed(value: Any) -> Any:
    if value is _SLOT:
        return "?"
    if isinstance(value, str):
        return "=" + value
    kind, *items = value
    if kind == "dict":
        return {key: _thawed(item) for key, item in items}
    if kind == "list":
        return [_thawed(item) for item in items]
    return float(items[0]) if kind == "float" else items[0]
