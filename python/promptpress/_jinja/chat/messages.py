"""The rules of transformers for the messages that a template sees, and for continuing the last message.

The rules are those of `apply_chat_template` in transformers 5.23 and 5.24. They depend only on the structure of a
conversation, so the same code handles the messages of a row and those of a shape, whose texts aren't known yet. 5.23
takes no message objects, and raises an AttributeError for a message that is no dict.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any

Messages = list[Any]

TAG = "CONTINUE_FINAL_MESSAGE_TAG "
"""The mark that is put after the text that is to be continued, and is then searched in the rendered text."""

REASONING = ("reasoning_content", "thinking", "reasoning")
"""Names of a message's reasoning. Templates read the first."""

_SCALARS = frozenset({type(None), bool, int, float, str})

_SHAREGPT_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "function": "tool",
    "function_response": "tool",
    "observation": "tool",
}
"""The role for each value of ShareGPT's `from` that isn't the name of a role."""


def normalised(conversation: Any, is_opaque: Callable[[Any], bool] = lambda _: False) -> Messages:
    """Return new messages, as a template sees them.

    Keys whose value is None are dropped, ShareGPT's names become OpenAI's, and reasoning is stored under each name by
    which templates read it. `is_opaque` returns true for a value that isn't known yet.

    Raises:
        ValueError: If there is no message.
        TypeError: If the conversation can't be iterated over, or a message isn't a dict.

    >>> normalised([{"from": "human", "value": "Hi.", "name": None}, {"role": "tool", "content": 1, "thinking": "?"}])
    [{'role': 'user', 'content': 'Hi.'}, {'thinking': '?', 'role': 'tool', 'content': 1, 'reasoning_content': '?'}]
    """
    if not conversation:
        raise ValueError("Cannot apply chat template to an empty conversation. Provide at least one message.")
    messages = []
    for message in conversation:
        if not isinstance(message, dict):
            error = f"Chat messages should be dicts, dataclasses or pydantic models, but got {message!r}."
            raise TypeError(error)
        messages.append({key: value for key, value in message.items() if value is not None})
    return [_with_reasoning(plain(as_openai(message), is_opaque)) for message in messages]


def is_message(value: Any) -> bool:
    """Return true for what transformers makes a dict of: a mapping, a dataclass, or a pydantic model.

    >>> is_message({"role": "user"}), is_message("user")
    (True, False)
    """
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_dataclass or isinstance(value, Mapping) or callable(getattr(value, "model_dump", None))


def as_openai(message: dict[str, Any]) -> dict[str, Any]:
    """Rename ShareGPT's `from` and `value` to `role` and `content`, if the message has no role.

    >>> as_openai({"from": "gpt", "value": "Yes?"})
    {'role': 'assistant', 'content': 'Yes?'}
    """
    speaker = message.get("from")
    if "role" in message or type(speaker) is not str:
        return message
    names = {"from": "role"} if "content" in message else {"from": "role", "value": "content"}
    out = {names.get(key, key): value for key, value in message.items()}
    out["role"] = _SHAREGPT_ROLES.get(speaker, speaker)
    return out


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    reasoning = next((message[key] for key in REASONING if message.get(key) is not None), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def plain(value: Any, is_opaque: Callable[[Any], bool] = lambda _: False) -> Any:
    """Copy a value into JSON's types, tuples and names of other types, which are all that a template may see.

    Values for which `is_opaque` returns true stay.

    >>> import datetime
    >>> plain({"at": datetime.date(2026, 3, 5), "n": (1, 2.5)})
    {'at': '<date>', 'n': (1, 2.5)}
    """
    if type(value) in _SCALARS or is_opaque(value):
        return value
    if isinstance(value, Mapping):
        return {plain(key, is_opaque): plain(item, is_opaque) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [plain(item, is_opaque) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return _plain_object(value)


def _plain_object(value: Any) -> Any:  # noqa: PLR0911 - a return for each kind of object
    # A subclass may have methods that a template could call.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return plain(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump())
    return f"<{type(value).__name__}>"


def tagged(
    messages: Messages, field: str, source: str, join: Callable[[Any, str], Any], same: Callable[[Any, Any], bool]
) -> Any:
    """Put the tag after the text that is to be continued, and return the text without the tag.

    Args:
        messages: As a template sees them; the last one is changed.
        field: The key of the text.
        source: The template, which has to contain the key.
        join: Puts the tag after a text.
        same: Returns true if two values are equal.

    Raises:
        ValueError: If there is no such text, or the template doesn't read it.
    """
    final = messages[-1].get(field)
    if final is None:
        message = f'continue_final_message is set but the final message has no "{field}" to continue!'
        raise ValueError(message)
    fields = [field]
    if field in REASONING:
        fields = [name for name in REASONING if same(messages[-1].get(name), final)]
    if not any(name in source for name in fields):
        message = f'continue_final_message is set to "{field}" but this is not an accepted field in the chat_template'
        raise ValueError(message)
    if type(final) in (list, tuple):
        for part in reversed(final):
            if "text" in part:
                final = part["text"]
                part["text"] = join(part["text"], TAG)
                return final
        message = "continue_final_message is set but we could not find any text to continue in the final message!"
        raise ValueError(message)
    for name in fields:
        messages[-1][name] = join(messages[-1][name], TAG)
    return final


def cut(text: str, final: Any) -> str:
    """Cut a text that was rendered with the tag off where its last message ends.

    Returns:
        The text up to the tag; without blanks at its end, if the template stripped the tag.

    Raises:
        ValueError: If `final` or the tag isn't in the text.

    >>> cut("<user> Hi. <bot> Well, CONTINUE_FINAL_MESSAGE_TAG </s>", "Well, ")
    '<user> Hi. <bot> Well, '
    """
    if final.strip() not in text or TAG.strip() not in text:
        message = (
            "continue_final_message is set but the final message does not appear in the chat after "
            "applying the chat template! This can happen if the chat template deletes portions of "
            "the final message. Please verify the chat template and final message in your chat to "
            "ensure they are compatible."
            f"Final message to continue: {final.strip()}\nRendered chat:\n{text}"
        )
        raise ValueError(message)
    end = text.rindex(TAG.strip())
    return text[:end] if text.startswith(TAG, end) else text[:end].rstrip()
