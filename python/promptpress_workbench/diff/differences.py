"""Differences of two prompts: their texts in pairs, the first difference, and the words that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate, zip_longest
from typing import Literal, TypeAlias

from promptpress_workbench.prompts.failed_rows import NO_REASON
from promptpress_workbench.prompts.layout import Mark
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage, PromptText

Change: TypeAlias = Literal[
    "text", "role", "fields", "parts", "messages", "form", "error_a", "error_b", "errors", "only_a", "only_b"
]
"""The kind of a difference: a text; a role; the other fields of a message; the number of parts; a message that one side
lacks; a text on one side and messages on the other; an error on one side, or other errors; or a request that one side
lacks."""

Numbers = tuple[int | None, int | None]
"""The numbers of a message on both sides; None on the side that lacks it."""

_WORD = re.compile(r"\w+|[^\w\s]")
_MAX_CELLS = 2500
"""The most pairs of messages that are compared; beyond them, messages are paired by their order."""

_MAX_TEXT = 4000
"""The characters of a message whose words count."""

_SAME_ROLE = 0.3
_ANY = 0.01
"""The least value of a pair: two messages that have nothing in common still stand side by side."""

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
_MAX_CHARACTERS = 1600
_MAX_TOKENS = 400
"""difflib's time grows with the square of this number, and in bad cases faster."""

_MAX_LINE_BLOCKS = 20
"""The most stretches of lines whose words are compared."""

_CONTEXT = 100
_MAX_SHOWN = 1600
_MAX_WINDOWS = 6
Block = tuple[int, int, int, int]
"""Start and end of a stretch in the first text, and of the stretch in the second text that replaces it."""


@dataclass(frozen=True)
class Location:
    """The location of the first difference of two prompts, with the piece that each side has there."""

    change: Change
    message: int | None = None
    """The number of the message on the first side, or on the second if only that has it; None for bare texts."""
    part: int | None = None
    start: int | None = None
    """The number of equal bytes before the difference of two texts; `character` is that of characters."""
    character: int | None = None
    a: Piece | None = None
    b: Piece | None = None
    only_in: Literal["A", "B"] | None = None


def aligned(a: Sequence[PromptMessage], b: Sequence[PromptMessage]) -> list[Numbers]:
    """Pair the messages of two prompts in order, so that pairs have as many words and roles in common as possible."""
    start, ends = 0, [len(a), len(b)]
    while start < min(ends) and _is_same(a[start], b[start]):
        start += 1
    while start < min(ends) and _is_same(a[ends[0] - 1], b[ends[1] - 1]):
        ends = [end - 1 for end in ends]
    between = [
        (None if mine is None else start + mine, None if yours is None else start + yours)
        for mine, yours in _aligned(a[start : ends[0]], b[start : ends[1]])
    ]
    tail = zip(range(ends[0], len(a)), range(ends[1], len(b)), strict=True)
    return [*((number, number) for number in range(start)), *between, *tail]


def _is_same(message: PromptMessage, other: PromptMessage) -> bool:
    return message.role == other.role and message.text == other.text


def _aligned(a: Sequence[PromptMessage], b: Sequence[PromptMessage]) -> list[Numbers]:
    """Align by dynamic programming: `best[i][j]` is the greatest value of pairs among the messages from i and j on."""
    if not a or not b or len(a) * len(b) > _MAX_CELLS:
        return list(zip_longest(range(len(a)), range(len(b))))
    words, other_words = ([Counter(_WORD.findall(message.text[:_MAX_TEXT])) for message in side] for side in (a, b))
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    values = [[_value(a[i], b[j], words[i], other_words[j]) for j in range(len(b))] for i in range(len(a))]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(values[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    return list(_walked(best, values))


def _value(a: PromptMessage, b: PromptMessage, words: Counter[str], others: Counter[str]) -> float:
    """Return how much two messages have in common: the share of their words, and more if the roles are the same."""
    total = words.total() + others.total()
    shared = 2 * (words & others).total() / total if total else float(a.text == b.text)
    return _ANY + shared + _SAME_ROLE * (a.role == b.role)


def _walked(best: list[list[float]], values: list[list[float]]) -> Iterator[Numbers]:
    i = j = 0
    while i < len(values) and j < len(values[0]):
        if best[i][j] == values[i][j] + best[i + 1][j + 1]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield i, None
            i += 1
        else:
            yield None, j
            j += 1
    yield from ((number, None) for number in range(i, len(values)))
    yield from ((None, number) for number in range(j, len(values[0])))


def text_pairs(a: Prompt, b: Prompt) -> Iterator[tuple[PromptText | None, PromptText | None]]:
    """Yield the texts of two prompts in pairs; None stands for a text that one side lacks. A bare text comes first."""
    if a.messages is None and b.messages is None:
        yield PromptText(a.pieces), PromptText(b.pieces)
        return
    if a.messages is None:
        yield PromptText(a.pieces), None
    if b.messages is None:
        yield None, PromptText(b.pieces)
    mine, yours = a.messages or (), b.messages or ()
    for number, other in aligned(mine, yours):
        sides = ((number, mine), (other, yours))
        yield from zip_longest(*(() if index is None else side[index].texts(index) for index, side in sides))


def are_equal_errors(error: str | None, other: str | None) -> bool:
    """Return true if two errors are the same; a null without a reason is the same as any error."""
    return error == other or NO_REASON in (error or NO_REASON, other or NO_REASON)


def first_difference(a: Prompt, b: Prompt) -> Location | None:  # noqa: PLR0911 - a kind of difference each
    """Return the location of the first difference of two prompts; None if they are equal."""
    if a.request is None or b.request is None:
        if a.request is None and b.request is None:
            return None if are_equal_errors(a.error, b.error) else Location("errors")
        return Location("error_a" if a.request is None else "error_b")
    if a.messages is None or b.messages is None:
        if (a.messages is None) != (b.messages is None):
            return Location("form")
        return _text_difference(a.pieces, b.pieces)
    for number, other in aligned(a.messages, b.messages):
        if number is None:
            return Location("messages", other, only_in="B")
        if other is None:
            return Location("messages", number, only_in="A")
        if location := _message_difference(a.messages[number], b.messages[other], number):
            return location
    return None


def _message_difference(mine: PromptMessage, yours: PromptMessage, number: int) -> Location | None:
    if mine.role != yours.role:
        return Location("role", number)
    for part, (my_part, your_part) in enumerate(zip(mine.parts, yours.parts, strict=False)):
        if (my_part.kind, my_part.fields) != (your_part.kind, your_part.fields):
            return Location("fields", number, part)
        if location := _text_difference(my_part.pieces, your_part.pieces, number, part):
            return location
    if len(mine.parts) != len(yours.parts):
        return Location("parts", number, min(len(mine.parts), len(yours.parts)))
    if location := _text_difference(mine.pieces, yours.pieces, number):
        return location
    return Location("fields", number) if (mine.fields, mine.key) != (yours.fields, yours.key) else None


def _text_difference(
    a: tuple[Piece, ...], b: tuple[Piece, ...], message: int | None = None, part: int | None = None
) -> Location | None:
    text, other = ("".join(piece.text for piece in pieces) for pieces in (a, b))
    if text == other:
        return None
    character = common_prefix(text, other)
    start = len(text[:character].encode("utf-8", "surrogatepass"))
    sides = [_piece(pieces, character, with_hidden=True) for pieces in (a, b)]
    if all(piece is not None and not piece.text for piece in sides):
        # Both sides hide the same answer there, which is no difference.
        sides = [_piece(pieces, character, with_hidden=False) for pieces in (a, b)]
    return Location("text", message, part, start, character, sides[0], sides[1])


def _piece(pieces: tuple[Piece, ...], character: int, *, with_hidden: bool) -> Piece | None:
    """Return the piece that holds a character, or the hidden answer directly before the character."""
    for piece in pieces:
        if character < len(piece.text) or (with_hidden and character == 0 and not piece.text):
            return piece
        character -= len(piece.text)
    return None


def changes(text: str, other: str) -> tuple[list[Mark], list[Mark]]:
    """Mark the words of two texts that differ as `removed` and `added`; long texts are compared by lines first."""
    blocks = _blocks(text, other)
    removed = [(start, end, "removed") for start, end, _, _ in blocks if start < end]
    added = [(start, end, "added") for _, _, start, end in blocks if start < end]
    return removed, added


def _blocks(text: str, other: str) -> list[Block]:
    before = common_prefix(text, other)
    after = common_suffix(text, other, min(len(text), len(other)) - before)
    whole = (before, len(text) - after, before, len(other) - after)
    if whole[0] == whole[1] and whole[2] == whole[3]:
        return []
    middles = text[before : whole[1]], other[before : whole[3]]
    words = _words(*middles)
    if words is not None:
        return _matched(*words, before, before)
    lines, other_lines = (middle.splitlines(keepends=True) for middle in middles)
    if max(len(lines), len(other_lines)) > _MAX_TOKENS:
        return [whole]
    out = []
    for number, block in enumerate(_matched(lines, other_lines, before, before)):
        start, end, other_start, other_end = block
        words = _words(text[start:end], other[other_start:other_end]) if number < _MAX_LINE_BLOCKS else None
        out += [block] if words is None else _matched(*words, start, other_start)
    return out


def _words(text: str, other: str) -> tuple[list[str], list[str]] | None:
    """Return the words of two texts; None if there are too many to compare them."""
    if max(len(text), len(other)) > _MAX_CHARACTERS:
        return None
    words, others = _TOKEN.findall(text), _TOKEN.findall(other)
    return None if max(len(words), len(others)) > _MAX_TOKENS else (words, others)


def _matched(tokens: list[str], others: list[str], start: int, other_start: int) -> list[Block]:
    """Return the stretches in which two lists of tokens differ, for texts that begin at these characters."""
    starts = [*accumulate(map(len, tokens), initial=start)]
    other_starts = [*accumulate(map(len, others), initial=other_start)]
    opcodes = SequenceMatcher(None, tokens, others, autojunk=False).get_opcodes()
    return [
        (starts[a_start], starts[a_end], other_starts[b_start], other_starts[b_end])
        for tag, a_start, a_end, b_start, b_end in opcodes
        if tag != "equal"
    ]


@dataclass(frozen=True)
class Window:
    """A displayed stretch of a text, with the differences in it, counted from its start."""

    pieces: tuple[Piece, ...]
    marks: tuple[Mark, ...]
    before: int
    """The number of characters between it and the window before it, or the start of the text."""
    after: int = 0
    """The number of characters after the last window."""


def windows(a: Sequence[Piece], b: Sequence[Piece]) -> list[tuple[Window, Window]]:
    """Choose the stretches of two different texts that are displayed: their differences, with what is around them."""
    texts = ["".join(piece.text for piece in pieces) for pieces in (a, b)]
    groups: list[list[Block]] = []
    for block in _blocks(*texts):
        if groups and block[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(block)
        else:
            groups.append([block])
    both = [_windows_of(side, pieces, groups[:_MAX_WINDOWS]) for side, pieces in enumerate((a, b))]
    return list(zip(*both, strict=True))


def _windows_of(side: int, pieces: Sequence[Piece], groups: Sequence[Sequence[Block]]) -> list[Window]:
    """Cut one side's windows out of its text."""
    length, kind = sum(len(piece.text) for piece in pieces), ("removed", "added")[side]
    out: list[Window] = []
    done = 0
    for group in groups:
        spans = [block[2 * side : 2 * side + 2] for block in group]
        begin = max(done, spans[0][0] - _CONTEXT)
        end = min(length, spans[-1][1] + _CONTEXT, begin + _CONTEXT + _MAX_SHOWN)
        marks = tuple(
            (start - begin, min(stop, end) - begin, kind) for start, stop in spans if start < stop and start < end
        )
        out.append(Window(_cut(pieces, begin, end), marks, begin - done))
        done = end
    return [*out[:-1], replace(out[-1], after=length - done)] if out else []


def _cut(pieces: Sequence[Piece], start: int, end: int) -> tuple[Piece, ...]:
    out = []
    offset = 0
    for piece in pieces:
        text = piece.text[max(start - offset, 0) : max(end - offset, 0)]
        if text or (not piece.text and start <= offset <= end):
            out.append(replace(piece, text=text))
        offset += len(piece.text)
    return tuple(out)


def common_prefix(text: str, other: str) -> int:
    """Count the characters at the start of two texts that are equal."""
    low, high = 0, min(len(text), len(other))
    while low < high:  # a comparison of slices is far faster than a loop over a megabyte
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def common_suffix(text: str, other: str, limit: int) -> int:
    """Count the characters at the end of two texts that are equal, up to a limit."""
    return min(common_prefix(text[::-1], other[::-1]), limit)
