"""The origins of the texts that a shape of conversations leaves open: message, role and path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from promptpress._jinja.chat.messages import normalised
from promptpress._jinja.origins import Origin


def slot_origins(skeleton: str, column: str) -> list[Origin]:
    """Return the origins of a conversation's slots, in their order.

    Args:
        skeleton: The shape of the conversation, as the core gives it.
        column: The column of conversations.

    >>> [origin.path for origin in slot_origins('[{"role": "=user", "content": [{"text": "?"}, {"text": "?"}]}]', "c")]
    ['content[0].text', 'content[1].text']
    """
    origins = []
    messages = json.loads(skeleton)
    roles = _roles(messages)
    for number, message in enumerate(messages):
        role = roles[number] if number < len(roles) else None
        origins += [Origin("field", column, number, role, path) for path in _slots(message, "")]
    return origins


def _slots(value: Any, path: str) -> Iterator[str]:
    """Yield the paths of a skeleton's slots."""
    if value == "?":
        yield path
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _slots(item, f"{path}[{number}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _slots(item, f"{path}.{key}" if path else key)


def _roles(messages: list[Any]) -> list[str | None]:
    """Return the roles that a template sees."""
    try:
        plain = normalised([{key: _text(value) for key, value in message.items()} for message in messages])
    except (ValueError, TypeError, AttributeError):
        return []
    return [role if isinstance(role := message.get("role"), str) else None for message in plain]


def _text(value: Any) -> Any:
    return value.removeprefix("=") if isinstance(value, str) else value
