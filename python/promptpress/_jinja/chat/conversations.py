"""Rows of a column of conversations as Python has them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["conversation_of", "with_shared_texts"]

_MESSAGES = ("messages", "conversations")
_OWN_ARGUMENTS = ("tools", "functions", "documents")


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
