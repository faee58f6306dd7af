"""Origins of a prompt's bytes as far as tokens ask for them, and turns of assistants that origins don't show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from promptpress._config.tokenizer import MARKS
from promptpress._tokens.settings import TokenSettings

FRAMES = ("template", "chat_template", "role.begin", "role.end", "meta_template.begin", "meta_template.end")
"""The sources of what stands around messages."""

_ROLES = frozenset({"assistant", "developer", "function", "model", "observation", "system", "tool", "user"})
"""Roles that are the template's own words, too: `<|{{ message.role }}|>` writes a token."""

ASSISTANTS = ("assistant", "BOT")
"""The roles of assistants."""

_CALLS = ("tool_calls", "function_call")
_MARK = MARKS[0]
_MARKUP = re.compile(r"[^\w\s]")
_CONTENT = "content"
_THOUGHT = "thinking"

_OF_TEXTS = frozenset({"type", "text", _THOUGHT})
"""The keys of parts whose texts origins show."""


def is_usual_role(span: Mapping[str, Any], text: bytes) -> bool:
    """Return true for a span of a text that is a message's role, of those that templates make tokens of."""
    return span.get("path") == "role" and text[span["start"] : span["end"]].decode() in _ROLES


class UnknownOriginError(Exception):
    """It isn't known which bytes of a prompt data brought, or whose they are; the message says why."""


def check_origin(span: Mapping[str, Any], *, takes_computed: bool = False) -> None:
    """Refuse a span of which nothing is known."""
    source = span["source"]
    if source == "jinja2":
        raise UnknownOriginError("the template looks at values in a way that loses where its text comes from")
    if source == "computed" and not takes_computed:
        raise UnknownOriginError("the template makes a text of several, so it isn't known which message it is of")


def calls_tools(message: Mapping[str, Any]) -> bool:
    """Return true if an assistant's message calls tools."""
    return message.get("role") in ASSISTANTS and any(message.get(key) for key in _CALLS)


def _has_other_parts(message: Mapping[str, Any]) -> bool:
    """Return true if an assistant's content has parts that aren't texts, such as calls of tools."""
    content = message.get(_CONTENT)
    parts = content if message.get("role") in ASSISTANTS and isinstance(content, list) else []
    return any(isinstance(part, Mapping) and not set(part) <= _OF_TEXTS for part in parts)


def hidden_turns(
    messages: Sequence[Mapping[str, Any]], spans: Sequence[Mapping[str, Any]], settings: TokenSettings
) -> list[int]:
    """Return the numbers of the messages whose turns origins don't show: calls of tools, and empty contents.

    Such a turn is found by a second rendering, in which the message has a mark in the place of its content and calls.
    The text before the mark and the text after it have to be those around the turn, or its place isn't known.
    """
    visible = {
        span["message"]
        for span in spans
        if span["source"] not in FRAMES and (span["path"] or "").startswith(_CONTENT) and span["start"] < span["end"]
    }
    # A list that is written as such has no text of the template in it.
    written = {span["message"] for span in spans if span["path"] == _CONTENT}
    ends = settings.mask != "assistant"
    return [
        number
        for number, message in enumerate(messages)
        if calls_tools(message)
        or (_has_other_parts(message) and number not in written)
        or (ends and message.get("role") in ASSISTANTS and number not in visible)
    ]


def marked_conversation(messages: Sequence[Mapping[str, Any]], number: int) -> list[dict[str, Any]]:
    """Return a conversation in which a mark is all that a message says."""
    changed = [dict(message) for message in messages]
    content: Any = _MARK
    if changed[number].get(_CONTENT) and isinstance(changed[number][_CONTENT], list):
        thoughts = [part for part in changed[number][_CONTENT] if isinstance(part, Mapping) and _THOUGHT in part]
        content = [*thoughts, {"type": "text", "text": _MARK}]
    changed[number] = {key: value for key, value in changed[number].items() if key not in _CALLS} | {_CONTENT: content}
    return changed


def place_of_turn(text: str, marked: str | None, number: int, message: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the first byte of what an assistant says, and the byte after it; None if the prompt doesn't show it."""
    what = "calls tools" if calls_tools(message) else "has other parts" if _has_other_parts(message) else "is empty"
    if marked is not None and _MARK not in marked and (what == "is empty" or marked == text):
        return None
    stretch = _between(text, marked or "")
    if stretch is None:
        raise UnknownOriginError(
            f"message {number} {what}, and the template writes other text around such a message than around a plain "
            "one, so its place isn't known"
        )
    return stretch


def place_in_beginning(text: str, beginning: str | None, marked: str | None) -> tuple[int, int] | None:
    r"""Return the place of the last message of a prompt's beginning; None if it isn't known.

    Some templates take no plain message where others follow a call: then the messages up to the call have to do.

    >>> place_in_beginning("[q]f()</s>r", "[q]f()</s>", "[q]\ufdd0</s>")
    (3, 6)

    """
    stretch = None if beginning is None else _between(beginning, marked or "")
    if beginning is None or stretch is None or not text.encode().startswith(beginning.encode()[: stretch[1]]):
        return None
    return stretch


def _between(text: str, marked: str) -> tuple[int, int] | None:
    """Return the bytes of a text that stand where a marked one has the mark.

    Blanks may be missing after the mark, and before it where a token or tag of the template follows.
    """
    before, mark, after = marked.partition(_MARK)
    if not mark or _MARK in after or _MARK in text:
        return None
    if not text.startswith(before) and _MARKUP.match(text, len(before.rstrip())):
        before = before.rstrip()
    after = after if text.endswith(after) else after.lstrip()
    if not text.startswith(before) or not text.endswith(after) or len(before) + len(after) > len(text):
        return None
    return len(before.encode()), len(text.encode()) - len(after.encode())
