"""Messages with other roles, decoded calls and merged system texts, in plain Python."""

from __future__ import annotations

import json
import re
from typing import Any

Message = dict[str, Any]

CALLS = ("function_call", "tool_call")
SHAREGPT = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "bing", "bard", "model", "bot"), "assistant"),
    **dict.fromkeys(("tool", "function", "function_response", "tool_response", "observation"), "tool"),
    **dict.fromkeys(("system",), "system"),
    **dict.fromkeys(("developer",), "developer"),
}


def _json(text: str, starts: str) -> Any:
    if text.lstrip(" \t\r\n")[:1] not in tuple(starts):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def calls_of(content: Any) -> list[Message] | None:
    """Return the tool calls of a turn's text; None if it is no such JSON."""
    value = _json(content, "{[") if isinstance(content, str) else content
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list) or not items:
        return None
    out = []
    for item in items:
        function = item.get("function", item) if isinstance(item, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or "arguments" not in function:
            return None
        rest = {key: value for key, value in item.items() if key not in ("name", "arguments")}
        made = {"name": function["name"], "arguments": function["arguments"]}
        out.append({"type": "function", **rest, "function": made} if function is item else item)
    return out


def as_openai(conversation: list[Message], roles: dict[str, str], *, decodes: bool) -> list[Message]:
    """Return the messages that a template reads; raise a ValueError for a turn of calls that holds none."""
    renamed = {name.lower(): role.lower() for name, role in roles.items()}
    out = []
    for given in conversation:
        message = {key: value for key, value in given.items() if value is not None}
        is_sharegpt = "role" not in message
        speaker = message.get("from" if is_sharegpt else "role")
        if isinstance(speaker, str):
            key = "value" if is_sharegpt and "content" not in message else "content"
            is_call = renamed.get(speaker.lower(), speaker.lower()) in CALLS and "tool_calls" not in message
            calls = calls_of(message.get(key)) if is_call else None
            if is_call and calls is None and is_sharegpt:
                raise ValueError("no call")
            if calls is not None:
                dropped = (key, "from") if is_sharegpt else (key,)
                message = {name: value for name, value in message.items() if name not in dropped}
                message |= {"role": "assistant", "content": "", "tool_calls": calls}
            else:
                names = {"from": "role", key: "content"} if is_sharegpt else {}
                message = {names.get(name, name): value for name, value in message.items()}
                usual = SHAREGPT.get(speaker.lower(), speaker) if is_sharegpt else speaker
                message["role"] = roles.get(speaker, roles.get(usual, usual))
        out.append(_decoded(message) if decodes else message)
    return out


def _decoded(message: Message) -> Message:
    message = json.loads(json.dumps(message))
    for call in message.get("tool_calls", ()):
        for holder in (call, call.get("function")):
            text = holder.get("arguments") if isinstance(holder, dict) else None
            if isinstance(text, str) and isinstance(value := _json(text, "{"), dict):
                holder["arguments"] = value
    return message


def merged(messages: list[Message]) -> list[Message]:
    """Return messages whose system messages at the beginning are part of the user's message after them."""
    roles = "".join(
        "s" if message.get("role") == "system" else "u" if message.get("role") == "user" else "x"
        for message in messages
    )
    match = re.match("s+u?", roles)
    if match is None:
        return messages
    head, rest = messages[: match.end()], messages[match.end() :]
    contents = [message["content"] for message in head if "content" in message]
    if not all(isinstance(content, (str, list)) for content in contents):
        return messages
    made = {**head[-1], "role": "user"}
    while len(contents) > 1:
        system, content = contents[-2:]
        if isinstance(system, str) and isinstance(content, str):
            joined: Any = f"{system}\n\n{content}" if system else content
        else:
            first = [_part(f"{system}\n\n" if system else "")] if isinstance(system, str) else [*system, _part("\n\n")]
            joined = [*first, *([_part(content)] if isinstance(content, str) else content)]
        contents[-2:] = [joined]
    return [{**made, **({"content": contents[0]} if contents else {})}, *rest]


def _part(text: str) -> Message:
    return {"type": "text", "text": text}
