"""Masks of tokens: which tokens are trained, from where the bytes of a prompt come from."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, takewhile, zip_longest
from typing import Any, NamedTuple

from promptpress._config.tokenizer import MARKS
from promptpress._jinja.chat.conversations import REASONING
from promptpress._tokens.origins import ASSISTANTS, FRAMES, UnknownOriginError, check_origin, is_usual_role
from promptpress._tokens.settings import TokenSettings

Span = tuple[int, int]
"""The first byte of a prompt's stretch, and the byte after it."""

_OPEN, _CLOSE = MARKS
_EITHER_MARK = re.compile(f"[{_OPEN}{_CLOSE}]")
_CONTENT = "content"
_KEYS = re.compile(r"[^.\[\]]+")
_TAG_BEFORE = re.compile(r"(?:<[^<>\s]+>|\[[^\[\]\s]+\])\s*$")
_TAG_AFTER = re.compile(r"\s*(?:</[^<>\s]+>|\[/[^\[\]\s]+\])")


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
        if mark[0] == _OPEN:
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
    turns = [turn for turn in turns if turn.message is None or messages is None or _is_trained(messages[turn.message])]
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


def _is_trained(message: Mapping[str, Any]) -> bool:
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
