"""Differences of two prompts: their texts in pairs, the first difference, and the words that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate, zip_longest
from typing import Literal, TypeAlias

from promptpress_workbench.diff.token_changes import TokenChange, token_changes
from promptpress_workbench.prompts.failed_rows import NO_REASON
from promptpress_workbench.prompts.layout import Mark
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage, PromptText

Change: TypeAlias = (
    Literal["text", "role", "fields", "parts", "messages", "form", "error_a", "error_b", "errors", "only_a", "only_b"]
    | Literal["ids", "mask"]
)
"""The kind of a difference: a text; a role; the other fields of a message; the number of parts; a message that one side
lacks; a text on one side and messages on the other; an error on one side, or other errors; a request that one side
lacks; other token ids; or the same ids with another mask."""

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

_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])\w)+(?:['\u2019]\w+)*|.", re.DOTALL
)
"""A word, a Chinese or Japanese character, white space, or a sign."""

_MAX_LINE = 200
"""The most equal characters before and after a difference that belong to its line."""

_MAX_CHARACTERS = 1600
_MAX_TOKENS = 400
"""difflib's time grows with the square of this number, and in bad cases faster."""

_MAX_LINE_BLOCKS = 20
"""The most stretches of lines whose words are compared."""

_CONTEXT = 100
_MAX_SHOWN = 1600
_MAX_WINDOWS = 10
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
    tokens: TokenChange | None = None
    """The difference, if tokens are compared."""


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


def first_difference(a: Prompt, b: Prompt) -> Location | None:
    """Return the location of the first difference of two prompts; None if they are equal."""
    if a.cells and b.cells:
        return next((location for location, _ in kinds_of_change(a, b)), None)
    return next((location for location, _, _ in _differences(a, b)), None)


def kinds_of_change(a: Prompt, b: Prompt) -> Iterator[tuple[Location, object]]:
    """Yield the location of each message that differs, with a value that is the same for the same change elsewhere."""
    if a.cells and b.cells:
        for tokens in token_changes(a.cells[0], b.cells[0]):
            yield Location(tokens.change, tokens=tokens), (tokens.change, tokens.description)
        return
    for location, mine, yours in _differences(a, b):
        pairs = list(zip_longest(mine, yours))
        texts = [["" if side is None else side.text for side in pair] for pair in pairs]
        heads = tuple(None if side is None else side.content[1:] for pair in pairs for side in pair)
        words = tuple(
            (old[block[0] : block[1]], new[block[2] : block[3]]) for old, new in texts for block in _blocks(old, new)
        )
        yield location, (location.change, location.only_in, heads, words, a.error, b.error)


def _differences(a: Prompt, b: Prompt) -> Iterator[tuple[Location, list[PromptText], list[PromptText]]]:
    """Yield each message that differs, or the text: where it begins to, and the texts of both sides."""
    if a.request is None and b.request is None:
        if not are_equal_errors(a.error, b.error):
            yield Location("errors"), [], []
    elif a.request is None or b.request is None:
        yield Location("error_a" if a.request is None else "error_b"), [], []
    elif a.messages is None or b.messages is None:
        if (a.messages is None) != (b.messages is None):
            yield Location("form"), [], []
        elif location := _text_difference(a.pieces, b.pieces):
            yield location, [PromptText(a.pieces)], [PromptText(b.pieces)]
    else:
        for number, other in aligned(a.messages, b.messages):
            mine = [] if number is None else list(a.messages[number].texts(number))
            yours = [] if other is None else list(b.messages[other].texts(other))
            location = _pair_difference(a.messages, b.messages, number, other)
            if location is not None:
                yield location, mine, yours


def _pair_difference(
    a: Sequence[PromptMessage], b: Sequence[PromptMessage], number: int | None, other: int | None
) -> Location | None:
    if number is None:
        return Location("messages", other, only_in="B")
    if other is None:
        return Location("messages", number, only_in="A")
    return _message_difference(a[number], b[other], number)


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
    """Mark the words of two texts that differ as `removed` and `added`; texts are compared by lines first."""
    blocks = _blocks(text, other)
    removed = [(start, end, "removed") for start, end, _, _ in blocks if start < end]
    added = [(start, end, "added") for _, _, start, end in blocks if start < end]
    return removed, added


def _blocks(text: str, other: str) -> list[Block]:
    before = common_prefix(text, other)
    after = common_suffix(text, other, min(len(text), len(other)) - before)
    if before + after == len(text) == len(other):
        return []
    before = _boundary(text, range(before, max(before - _MAX_LINE, 0) - 1, -1))
    end = len(text) - after
    after -= _boundary(text, range(end + 1, min(end + _MAX_LINE, len(text)) + 1), end) - end
    lines, others = (side[before : len(side) - after].splitlines(keepends=True) for side in (text, other))
    if max(len(lines), len(others)) > _MAX_TOKENS:
        return [(before, len(text) - after, before, len(other) - after)]
    out: list[Block] = []
    for number, block in enumerate(_matched(lines, others, before, before)):
        start, end, other_start, other_end = block
        words = _words(text[start:end], other[other_start:other_end]) if number < _MAX_LINE_BLOCKS else None
        for part in [block] if words is None else _matched(*words, start, other_start):
            if out and not text[out[-1][1] : part[0]].strip(" "):  # nothing but spaces stands between the words
                out[-1] = (out[-1][0], part[1], out[-1][2], part[3])
            else:
                out.append(part)
    return out


def _boundary(text: str, indices: range, default: int | None = None) -> int:
    """Return the first index at which a line begins, else a word; if there is none, `default` or the first of all."""
    starts = [index for index in indices if index in (0, len(text)) or text[index - 1].isspace()]
    lines = (index for index in starts if index in (0, len(text)) or text[index - 1] == "\n")
    return next(lines, next(iter(starts), indices[0] if default is None else default))


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
    """The number of characters after it that are left out, if no window says them."""
    changed: bool = True
    """False if the window is the same on both sides: it is there for what stands next to it."""


def windows(a: Sequence[Piece], b: Sequence[Piece]) -> list[tuple[Window, Window]]:
    """Choose the stretches of two different texts that are displayed: lines that differ, and what is around them."""
    text, other = ("".join(piece.text for piece in pieces) for pieces in (a, b))
    blocks = _blocks(text, other)
    lines = _changed_lines(text, other, blocks)
    stretches: list[tuple[Block, bool]] = []
    end = 0
    for number, line in enumerate(lines[:_MAX_WINDOWS]):
        following = lines[number + 1][0] if number + 1 < len(lines) else len(text)
        before = after = 0
        if text[max(line[0] - 1, 0) : line[0]] == "\n":
            before = line[0] - _boundary(text, range(max(end, line[0] - _CONTEXT), line[0] + 1))
        if not line[1] or text[line[1] - 1] == "\n":
            after = _boundary(text, range(min(line[1] + _CONTEXT, following), line[1] - 1, -1)) - line[1]
        if before > 0:
            stretches.append(((line[0] - before, line[0], line[2] - before, line[2]), False))
        stretches.append((line, True))
        end = line[1] + after
        if after > 0:
            stretches.append(((line[1], end, line[3], line[3] + after), False))
    sides = [_windows_of(side, pieces, stretches, blocks) for side, pieces in enumerate((a, b))]
    return list(zip(*sides, strict=True))


def _changed_lines(text: str, other: str, blocks: Sequence[Block]) -> list[Block]:
    """Return the lines that differ, as far as they aren't too long; lines that follow each other are one block."""
    out: list[Block] = []
    for start, end, begin, stop in blocks:
        line = text.rfind("\n", 0, start) + 1
        before = start - (line if start - line <= _MAX_LINE else _boundary(text, range(start - _CONTEXT, start + 1)))
        after = 0
        parts = text[start:end], other[begin:stop]
        if before or not all(part.endswith("\n") for part in parts if part):
            line = text.find("\n", end) + 1 or len(text)
            after = (line if line - end <= _MAX_LINE else _boundary(text, range(end + _CONTEXT, end - 1, -1))) - end
        if out and start - before <= out[-1][1]:
            out[-1] = (out[-1][0], end + after, out[-1][2], stop + after)
        else:
            out.append((start - before, end + after, begin - before, stop + after))
    return out


def _windows_of(
    side: int, pieces: Sequence[Piece], stretches: Sequence[tuple[Block, bool]], blocks: Sequence[Block]
) -> list[Window]:
    """Cut one side's windows out of its text."""
    length, kind = sum(len(piece.text) for piece in pieces), ("removed", "added")[side]
    spans = [block[2 * side : 2 * side + 2] for block in blocks]
    out: list[Window] = []
    done = 0
    for block, changed in stretches:
        begin, stop = block[2 * side : 2 * side + 2]
        end = min(stop, begin + _MAX_SHOWN)
        marks = tuple(
            (start - begin, min(last, end) - begin, kind)
            for start, last in spans
            if changed and begin <= start < min(last, end)
        )
        out.append(Window(_cut(pieces, begin, end), marks, begin - done, stop - end, changed))
        done = stop
    return [*out[:-1], replace(out[-1], after=out[-1].after + length - done)] if out else []


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
