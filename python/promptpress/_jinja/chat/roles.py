"""Roles of messages: other names, ShareGPT's turns, calls of tools as texts, and system texts without a role.

The rules depend on roles, keys and types only, so the same code handles the messages of a row and those of a shape, in
which the core has opened the texts of calls. `is_text` returns true for a value that surely is a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from promptpress._errors.errors import render_error

CALL_ROLES = ("function_call", "tool_call")
"""Roles of turns whose text is a call of a tool, or a list of calls, as JSON."""

_SHAREGPT_ROLES = {
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "bing", "bard", "model", "bot"), "assistant"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("tool", "function", "function_response", "tool_response", "observation"), "tool"),
    **{name: name for name in ("system", "developer")},
}
"""The role for each value of ShareGPT's `from`, in any case. Other values are roles themselves."""

_MAX_EXCERPT = 60
_JSON_START = re.compile(r"[ \t\n\r]*[{\[]")
_OBJECT_START = re.compile(r"[ \t\n\r]*\{")


def _is_str(value: Any) -> bool:
    return type(value) is str


@dataclass(frozen=True)
class TurnRules:
    """Rules by which messages become those that a template reads.

    `names` are other names of roles; if `decodes_arguments`, arguments of calls that are JSON texts become dicts.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    decodes_arguments: bool = False

    @cached_property
    def call_roles(self) -> tuple[str, ...]:
        """Roles in lower case whose texts are calls; a role that is renamed is one if its new name is."""
        renamed = {name.lower(): role.lower() for name, role in self.names.items()}
        roles = [name for name in CALL_ROLES if name not in renamed]
        return (*roles, *(name for name, role in renamed.items() if role in CALL_ROLES))

    def applied(self, message: dict[str, Any], number: int, is_text: Callable[[Any], bool] = _is_str) -> dict[str, Any]:
        """Return a message in OpenAI's form, with other names and decoded arguments; `number` stands in errors."""
        is_sharegpt = "role" not in message
        speaker = message.get("from" if is_sharegpt else "role")
        if type(speaker) is str:
            content = "content" if "content" in message or not is_sharegpt else "value"
            made = {name: value for name, value in message.items() if not (is_sharegpt and name == "from")}
            calls = None
            if speaker.lower() in self.call_roles and "tool_calls" not in message:
                calls = _calls(message.get(content), is_text)
                if calls is None and is_sharegpt:
                    raise _no_call(speaker, number, message.get(content))
            if calls is not None:
                del made[content]
                role = self.names.get("assistant", "assistant")
                message = {**made, "role": role, "content": "", "tool_calls": calls}
            else:
                names = {"from": "role", content: "content"} if is_sharegpt else {}
                message = {names.get(name, name): value for name, value in message.items()}
                message["role"] = self._role(speaker, is_sharegpt=is_sharegpt)
        return _with_decoded_arguments(message) if self.decodes_arguments else message

    def _role(self, speaker: str, *, is_sharegpt: bool) -> str:
        if speaker in self.names:
            return self.names[speaker]
        usual = _SHAREGPT_ROLES.get(speaker.lower(), speaker) if is_sharegpt else speaker
        return self.names.get(usual, usual)


PLAIN = TurnRules()


def as_openai(message: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """Return a message of ShareGPT's form, or one whose text is a call of a tool, in OpenAI's form."""
    return PLAIN.applied(message, number)


def _calls(content: Any, is_text: Callable[[Any], bool]) -> list[dict[str, Any]] | None:
    """Return the tool calls of a turn's text, or of the JSON that it holds; None if it is something else."""
    if type(content) is str:
        content = _decoded(content, _JSON_START)
    if type(content) is dict:
        content = [content]
    if type(content) is not list or not content:
        return None
    calls = [_call(call, is_text) for call in content]
    return None if any(call is None for call in calls) else calls  # type: ignore[return-value]


def _call(call: Any, is_text: Callable[[Any], bool]) -> dict[str, Any] | None:
    """Return a call in OpenAI's form; keys other than the name and the arguments stay next to its function."""
    function = call.get("function", call) if type(call) is dict else None
    if type(function) is not dict or not is_text(function.get("name")) or "arguments" not in function:
        return None
    if function is not call:
        return call  # type: ignore[no-any-return]
    rest = {key: value for key, value in call.items() if key not in ("name", "arguments")}
    return {"type": "function", **rest, "function": {"name": call["name"], "arguments": call["arguments"]}}


def _no_call(speaker: str, number: int, content: Any) -> Exception:
    excerpt = repr(content[:_MAX_EXCERPT]) if type(content) is str else f"a {type(content).__name__}"
    message = (
        f"message {number}: its role is {speaker!r}, so its text has to be a call of a tool as JSON, "
        f'{{"name": ..., "arguments": ...}}, or a list of calls; found {excerpt}'
    )
    return render_error("unconvertible_value", message)


def _decoded(text: str, start: re.Pattern[str]) -> Any:
    """Return the JSON that a text holds; None if it doesn't begin as it should, or isn't JSON."""
    try:
        return json.loads(text) if start.match(text) else None
    except (ValueError, RecursionError):
        return None


def _with_decoded_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Copy a message whose calls have arguments that are JSON texts of objects, with these objects."""
    changed: dict[str, Any] = {}
    if type(calls := message.get("tool_calls")) is list:
        changed["tool_calls"] = [_with_dict(call, "function") for call in calls]
    if type(call := message.get("function_call")) is dict:
        changed["function_call"] = _with_dict(call)
    return {**message, **changed}


def _with_dict(call: Any, function: str = "") -> Any:
    """Return a call with decoded arguments, also those of the function that it has under a key."""
    if type(call) is not dict:
        return call
    changed = {function: _with_dict(call[function])} if function in call else {}
    if type(arguments := call.get("arguments")) is str and type(decoded := _decoded(arguments, _OBJECT_START)) is dict:
        changed["arguments"] = decoded
    return {**call, **changed}


BLANK_LINE = "\n\n"
_MARK = "promptpress-system-text"


def lacks_system_role(render: Callable[[list[dict[str, Any]]], str]) -> bool:
    """Return true for a template that leaves a system message out, or raises for it.

    `render` gets a conversation with a mark as the system's text, and one whose contents are lists of parts.
    """
    for as_content in (str, _parts):
        try:
            system, user = as_content(_MARK), as_content("Hi.")
            if _MARK in render([{"role": "system", "content": system}, {"role": "user", "content": user}]):
                return False
        except Exception:
            continue
    return True


def _parts(text: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def before(system: Any, user: Any) -> Any:
    """Put a system's text before another one, with a blank line between them if the first one isn't empty."""
    return system + BLANK_LINE + user if system else user


def with_merged_system(
    messages: list[Any],
    is_text: Callable[[Any], bool] = lambda value: isinstance(value, str),
    join: Callable[[Any, Any], Any] = before,
) -> list[Any]:
    """Return messages whose system messages at the beginning are part of the user's message after them.

    If another message follows, the system's text is a message of the user. Messages with a content that is neither a
    text nor a list of parts stay. `join` is `before`, or does the same with texts that aren't known yet.
    """
    count = next((n for n, message in enumerate(messages) if message.get("role") != "system"), len(messages))
    has_user = count < len(messages) and messages[count].get("role") == "user"
    merged, rest = messages[: count + has_user], messages[count + has_user :]
    contents = [message["content"] for message in merged if "content" in message]
    if not count or not all(is_text(content) or type(content) is list for content in contents):
        return messages
    made = {**merged[-1], "role": "user"}
    if contents:
        *systems, made["content"] = contents
        for system in reversed(systems):
            made["content"] = _joined(system, made["content"], is_text, join)
    return [made, *rest]


def _joined(
    system: Any, user: Any, is_text: Callable[[Any], bool], join: Callable[[Any, Any], Any]
) -> list[dict[str, Any]] | Any:
    """Return a content with a system's text in front: a text, or a list of parts if one of both is a list."""
    if is_text(system) and is_text(user):
        return join(system, user)
    first = _parts(join(system, "")) if is_text(system) else [*system, *_parts(BLANK_LINE)]
    return [*first, *(_parts(user) if is_text(user) else user)]
