"""Masks of tokens: which tokens are trained, from where the bytes of a prompt come from.

Turns of assistants that origins don't show are found by a second rendering.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, takewhile, zip_longest
from typing import Any, NamedTuple

from promptpress._config.tokenizer import MARKS
from promptpress._jinja.chat.conversations import REASONING
from promptpress._tokens.settings import TokenSettings

Span = tuple[int, int]
"""The first byte of a prompt's stretch, and the byte after it."""

_EITHER_MARK = re.compile(f"[{MARKS[0]}{MARKS[1]}]")
_CONTENT = "content"
_KEYS = re.compile(r"[^.\[\]]+")
_TAG_BEFORE = re.compile(r"(?:<[^<>\s]+>|\[[^\[\]\s]+\])\s*$")
_TAG_AFTER = re.compile(r"\s*(?:</[^<>\s]+>|\[/[^\[\]\s]+\])")


FRAMES = ("template", "chat_template", "role.begin", "role.end", "meta_template.begin", "meta_template.end")
"""The sources of what stands around messages."""

_ROLES = frozenset({"assistant", "developer", "function", "model", "observation", "system", "tool", "user"})
"""Roles that are the template's own words, too: `<|{{ message.role }}|>` writes a token."""

ASSISTANTS = ("assistant", "BOT")
"""The roles of assistants."""

_CALLS = ("tool_calls", "function_call")
_MARK = MARKS[0]
_MARKUP = re.compile(r"[^\w\s]")
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
    messages: Sequence[Mapping[str, Any]],
    spans: Sequence[Mapping[str, Any]],
    settings: TokenSettings,
    numbers: Iterable[int] | None = None,
) -> list[int]:
    """Return the numbers of the messages whose turns origins don't show: calls of tools, and empty contents.

    With `numbers`, other messages aren't looked at.

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
        for number in (range(len(messages)) if numbers is None else numbers)
        if calls_tools(message := messages[number])
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


def generation_spans(marked: str, text: str) -> list[Span]:
    """Return the stretches of a text that stand in `{% generation %}` blocks."""
    if _EITHER_MARK.search(text):
        raise UnknownOriginError("the text holds U+FDD0 or U+FDD1, which marks generation blocks")
    spans: list[Span] = []
    plain: list[str] = []
    opened: list[int] = []
    length = last = 0
    for mark in _EITHER_MARK.finditer(marked):
        part = marked[last : mark.start()]
        plain.append(part)
        length += len(part.encode())
        last = mark.end()
        if mark[0] == _MARK:
            opened.append(length)
        elif opened:
            spans.append((opened.pop(), length))
        else:
            break
    plain.append(marked[last:])
    if opened or "".join(plain) != text:
        raise UnknownOriginError("the template changes what its generation blocks have written")
    return sorted(spans)


class _Piece(NamedTuple):
    """A stretch of a prompt: where it is, the number of its message and its path there, and whose it is.

    `path` and `value`, the text at that path, are None if they aren't known. A frame is the template's own text, and
    begins a turn if a meta template writes it before a role's text.
    """

    start: int
    end: int
    message: int | None
    path: str | None
    value: str | None
    is_said: bool
    is_reasoning: bool
    is_frame: bool
    begins_turn: bool = False
    is_of_assistant: bool = False


class _Turn(NamedTuple):
    """The stretches of one turn of an assistant, and the numbers of the pieces that they are of."""

    message: int | None
    spans: list[Span]
    numbers: list[int]


def assistant_spans(
    text: bytes,
    spans: Sequence[Mapping[str, Any]],
    settings: TokenSettings,
    added: Collection[str],
    messages: Sequence[Mapping[str, Any]] | None = None,
    *,
    hidden: Mapping[int, Span] | None = None,
    is_closed: bool = False,
) -> list[Span]:
    """Return the stretches that assistants say, and what ends their turns where that is asked for.

    `spans` are the origins of the text's bytes in detail, `messages` the conversation as the template sees it, None if
    a configuration made the prompt. `hidden` has the stretches of messages that the origins don't show, by the numbers
    of the messages. With `is_closed`, all that stands after the last turn is its end, and not the beginning of another.
    """
    pieces = [_piece(text, span, messages) for span in spans]
    if messages is None:
        pieces = _with_empty_turns(pieces)
    for message, (start, end) in (hidden or {}).items():
        pieces = _with_spoken(pieces, start, end, message, reasoning=settings.reasoning)
    turns: list[_Turn] = []
    for number, piece in enumerate(pieces):
        if not piece.is_said or (piece.is_reasoning and not settings.reasoning):
            continue
        start, end = _with_tags(text, pieces, number)
        turn = turns[-1] if turns else None
        if turn is None or turn.message != piece.message or _begins_turn(pieces, turn, number):
            turns.append(_Turn(piece.message, [(start, end)], [number]))
            continue
        turn.spans.append((turn.spans[-1][1] if _belongs(text, pieces, turn, number) else start, end))
        turn.numbers.append(number)
    if settings.last_turn and messages is not None:
        last = [number for number, message in enumerate(messages) if message.get("role") in ASSISTANTS][-1:]
        turns = [turn for turn in turns if turn.message in last]
    elif settings.last_turn:
        turns = turns[-1:]
    turns = [turn for turn in turns if turn.message is None or messages is None or is_trained(messages[turn.message])]
    if settings.mask != "assistant":
        for turn in turns:
            end = turn.spans[-1][1]
            frames = takewhile(lambda piece: piece.is_frame, islice(pieces, turn.numbers[-1] + 1, None))
            limit = max((piece.end for piece in frames), default=end)
            frame = text[end:limit].decode()
            is_turn = settings.mask == "assistant+turn"
            length = _end_of_turn(frame, added, with_blanks=is_turn)
            is_last = messages is not None and turn.message == len(messages) - 1
            closes = is_turn and is_closed and is_last and limit == len(text)
            turn.spans.append((end, limit if closes else end + length))
    return [span for turn in turns for span in turn.spans if span[0] < span[1]]


def _piece(text: bytes, span: Mapping[str, Any], messages: Sequence[Mapping[str, Any]] | None) -> _Piece:
    check_origin(span)
    source, path, start, end, message = (span.get(name) for name in ("source", "path", "start", "end", "message"))
    is_frame = source in FRAMES or is_usual_role(span, text)
    keys = _KEYS.findall(path or "")
    is_reasoning = any(key in REASONING for key in keys)
    is_said = not is_frame and span.get("role") in ASSISTANTS and (not keys or keys[0] == _CONTENT or is_reasoning)
    value = None
    if is_said and path is not None and messages is not None and message is not None:
        value = _value(messages[message], keys)
        written = text[start:end].decode()
        if not _is_written(written, value, keys):
            where = f"{path} of message {message}"
            raise UnknownOriginError(f"the template changes {where}, or joins text of its own to it")
    return _Piece(
        int(start or 0),
        int(end or 0),
        message,
        path,
        value if isinstance(value, str) and text[start:end].decode() in value else None,
        is_said,
        is_said and is_reasoning,
        is_frame,
        source == "role.begin",
        span.get("role") in ASSISTANTS,
    )


def _is_written(text: str, value: Any, keys: Sequence[str]) -> bool:
    """Return true if a text is what a template writes of a value, or of the key under which it stands, or a part."""
    if any(text in form for item in (value, keys[-1] if keys else "") for form in _forms(item)):
        return True
    # JSON may be indented.
    return not isinstance(value, str) and any("".join(text.split()) in "".join(form.split()) for form in _forms(value))


def _forms(value: Any) -> tuple[str, ...]:
    """Return a value as texts: Python's and JSON's."""
    return str(value), repr(value), json.dumps(value, ensure_ascii=False), json.dumps(value)


def is_trained(message: Mapping[str, Any]) -> bool:
    """Return false for a message that says of itself that it isn't trained."""
    weight = message.get("weight")
    return not (message.get("train") is False or (isinstance(weight, (int, float)) and weight == 0))


def _spoken(start: int, end: int, message: int | None) -> _Piece:
    return _Piece(start, end, message, _CONTENT, None, is_said=True, is_reasoning=False, is_frame=False)


def _with_empty_turns(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return the pieces of a configuration's prompt with an empty one for each role that begins and says nothing."""
    out: list[_Piece] = []
    for piece, after in zip_longest(pieces, pieces[1:]):
        out.append(piece)
        # At the end of a prompt the model is to speak.
        if piece.begins_turn and piece.is_of_assistant and after is not None and not after.is_said:
            out.append(_spoken(piece.end, piece.end, None))
    return out


def _with_spoken(pieces: Sequence[_Piece], start: int, end: int, message: int, *, reasoning: bool) -> list[_Piece]:
    """Return the pieces with one for what an assistant says, in the place of what the origins know of it."""
    before: list[_Piece] = []
    after: list[_Piece] = []
    for piece in pieces:
        is_outside = piece.end <= start or piece.start >= end
        if not is_outside and not piece.is_frame and piece.message != message:
            raise UnknownOriginError(f"text of another message stands within what message {message} says")
        if not is_outside and piece.is_reasoning and not reasoning:
            raise UnknownOriginError(f"reasoning stands within what message {message} says; reasoning=True trains it")
        if piece.start < start:
            before.append(piece._replace(end=min(piece.end, start)))
        if piece.end > end:
            after.append(piece._replace(start=max(piece.start, end)))
    return [*before, _spoken(start, end, message), *after]


def _value(message: Any, keys: Sequence[str]) -> Any:
    """Return the value at a path of a message; an empty text if there is none."""
    value = message
    for key in keys:
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            return ""
    return value


def _begins_turn(pieces: Sequence[_Piece], turn: _Turn, number: int) -> bool:
    """Return true if a new turn begins between two pieces of one prompt that a configuration made."""
    between = pieces[turn.numbers[-1] + 1 : number]
    return pieces[number].value is None and any(other.begins_turn or not other.is_frame for other in between)


def _belongs(text: bytes, pieces: Sequence[_Piece], turn: _Turn, number: int) -> bool:
    """Return true if what stands between a turn's last text and the next one is the turn's too.

    That is so for what the template writes between two texts of one message. Between two parts of one text, it has to
    be what stands there in that text.
    """
    last, piece = pieces[turn.numbers[-1]], pieces[number]
    if not all(other.is_frame for other in pieces[turn.numbers[-1] + 1 : number]):
        return False
    if piece.path != last.path:
        return all(pieces[other].path != piece.path for other in turn.numbers)
    if piece.value is None:
        return True
    return text[last.start : piece.end].decode() in piece.value


def _with_tags(text: bytes, pieces: Sequence[_Piece], number: int) -> Span:
    """Return the stretch of a text with the tags that the template writes around it.

    Reasoning has tags of its own. Of another text, the template may write anew what it has cut off, such as a tag.
    """
    piece = pieces[number]
    start, end = piece.start, piece.end
    before = text[pieces[number - 1].start : start].decode() if number and pieces[number - 1].is_frame else ""
    is_followed = number + 1 < len(pieces) and pieces[number + 1].is_frame
    after = text[end : pieces[number + 1].end].decode() if is_followed else ""
    if piece.is_reasoning:
        tags = _TAG_BEFORE.search(before), _TAG_AFTER.match(after)
        length_before, length_after = (0 if tag is None else len(tag[0].encode()) for tag in tags)
        return start - length_before, end + length_after
    if piece.value is not None:
        cut_before, cut_after = piece.value.split(text[start:end].decode(), 1)
        if cut_before.strip():
            cuts = (cut_before, cut_before.lstrip())
            start -= next((len(cut.encode()) for cut in cuts if before.endswith(cut)), 0)
        if cut_after.strip():
            end += next((len(cut.encode()) for cut in (cut_after, cut_after.rstrip()) if after.startswith(cut)), 0)
    return start, end


def _end_of_turn(frame: str, added: Collection[str], *, with_blanks: bool) -> int:
    """Return how many bytes end a turn: up to the first added token of what the template writes after it."""
    position = 0
    ends = [(frame.find(token), -len(token)) for token in added if token and token in frame]
    if ends:
        first, length = min(ends)
        position = first - length
    if with_blanks:
        position = len(frame) - len(frame[position:].lstrip())
    return len(frame[:position].encode())
