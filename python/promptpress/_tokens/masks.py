"""Masks of tokens: which tokens are trained, from where the bytes of a prompt come from."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from operator import le
from typing import Any, NamedTuple

from promptpress._jinja.sandbox.environments import MARKS
from promptpress._tokens.origins import FRAMES, UnknownOriginError, check_origin
from promptpress._tokens.settings import TokenSettings

__all__ = ["assistant_spans", "generation_spans", "mask_of"]

Span = tuple[int, int]
"""The first byte of a prompt's stretch, and the byte after it."""

_OPEN, _CLOSE = MARKS
_EITHER_MARK = re.compile(f"[{_OPEN}{_CLOSE}]")
_REASONING = ("reasoning_content", "reasoning", "thinking")
_ROLES = ("assistant", "BOT")
_TAG_BEFORE = re.compile(r"(?:<[^<>\s]+>|\[[^\[\]\s]+\])\s*$")
_TAG_AFTER = re.compile(r"\s*(?:</[^<>\s]+>|\[/[^\[\]\s]+\])")


def generation_spans(marked: str, text: str) -> list[Span]:
    r"""Return the stretches of a text that stand in `{% generation %}` blocks.

    Args:
        marked: The text with marks.
        text: The text without.

    Raises:
        UnknownOriginError: If the marks have changed the text, or the text holds such marks itself.

    >>> generation_spans(f"<a>{_OPEN}é!{_CLOSE}\n", "<a>é!\n")
    [(3, 6)]

    """
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
    """A stretch of a prompt, and whose it is."""

    start: int
    end: int
    message: int | None
    is_said: bool
    is_reasoning: bool
    is_frame: bool


def assistant_spans(
    text: bytes, spans: Sequence[Mapping[str, Any]], settings: TokenSettings, added: Collection[str]
) -> list[Span]:
    """Return the stretches that assistants say, and what ends their turns where that is asked for.

    Args:
        text: The prompt.
        spans: The origins of its bytes, in detail.
        settings: What is trained.
        added: The tokenizer's added tokens, as texts.

    Raises:
        UnknownOriginError: If the origin of a stretch isn't known.

    """
    pieces = [_piece(span) for span in spans]
    turns: list[tuple[int | None, list[Span]]] = []
    for number, piece in enumerate(pieces):
        if not piece.is_said or (piece.is_reasoning and not settings.reasoning):
            continue
        start, end = piece.start, piece.end
        if piece.is_reasoning:
            start, end = _with_tags(text, pieces, number)
        if turns and turns[-1][0] == piece.message:
            texts = turns[-1][1]
            # What the template writes between two texts of one message belongs to the message.
            texts.append((texts[-1][1] if _only_frames(pieces, texts[-1][1], start) else start, end))
        else:
            turns.append((piece.message, [(start, end)]))
    if settings.last_turn:
        turns = turns[-1:]
    if settings.mask != "assistant":
        for _, texts in turns:
            end = texts[-1][1]
            texts.append((end, _turn_end(text, pieces, end, added, with_blanks=settings.mask == "assistant+turn")))
    return [span for _, texts in turns for span in texts if span[0] < span[1]]


def _piece(span: Mapping[str, Any]) -> _Piece:
    source, path = span["source"], span.get("path")
    check_origin(span)
    is_frame = source in FRAMES or path == "role"
    is_said = not is_frame and span.get("role") in _ROLES
    return _Piece(
        span["start"], span["end"], span.get("message"), is_said, is_said and _head(path) in _REASONING, is_frame
    )


def _head(path: str | None) -> str | None:
    return None if path is None else re.split(r"[.\[]", path, maxsplit=1)[0]


def _only_frames(pieces: Sequence[_Piece], start: int, end: int) -> bool:
    """Return true if only the template's own text stands in a stretch."""
    return all(piece.is_frame for piece in pieces if piece.start < end and piece.end > start)


def _with_tags(text: bytes, pieces: Sequence[_Piece], number: int) -> Span:
    """Return the stretch of a message's reasoning with the tags around it."""
    start, end = pieces[number].start, pieces[number].end
    if number and pieces[number - 1].is_frame:
        before = text[pieces[number - 1].start : start].decode()
        tag = _TAG_BEFORE.search(before)
        start -= 0 if tag is None else len(before[tag.start() :].encode())
    if number + 1 < len(pieces) and pieces[number + 1].is_frame:
        after = text[end : pieces[number + 1].end].decode()
        tag = _TAG_AFTER.match(after)
        end += 0 if tag is None else len(tag[0].encode())
    return start, end


def _turn_end(text: bytes, pieces: Sequence[_Piece], end: int, added: Collection[str], *, with_blanks: bool) -> int:
    """Return where a turn ends: after the first added token of what the template writes after it."""
    limit = end
    for piece in pieces:
        if piece.start <= limit < piece.end and piece.is_frame:
            limit = piece.end
    frame = text[end:limit].decode()
    position = 0
    ends = [(frame.find(token), -len(token)) for token in added if token and token in frame]
    if ends:
        first, length = min(ends)
        position = first - length
    if with_blanks:
        while position < len(frame) and frame[position].isspace():
            position += 1
    return end + len(frame[:position].encode())


def mask_of(starts: Sequence[int], ends: Sequence[int], spans: Sequence[Span]) -> bytes:
    """Return which tokens overlap a stretch, by the rule of transformers.

    Args:
        starts: The byte at which each token begins.
        ends: The byte after each token.
        spans: Stretches, in order.

    Returns:
        A byte for each token, 1 or 0.

    >>> list(mask_of([0, 3, 4], [3, 4, 9], [(3, 5)]))
    [0, 1, 1]

    """
    count = len(ends)
    # Special tokens after the text have no place in it.
    while count and ends[count - 1] == 0:
        count -= 1
    starts, ends, padding = starts[:count], ends[:count], len(ends) - count
    mask = bytearray(count)
    if all(map(le, starts, starts[1:])) and all(map(le, ends, ends[1:])):
        for begin, stop in spans:
            first, last = bisect_right(ends, begin), bisect_left(starts, stop)
            if first < last:
                mask[first:last] = b"\1" * (last - first)
    else:
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            mask[number] = any(start < stop and end > begin for begin, stop in spans)
    return bytes(mask) + bytes(padding)
