"""Changes within two texts, word by word, in bounded time for texts of any length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate

from promptpress_workbench.prompts.layout import Mark
from promptpress_workbench.prompts.prompt import Piece

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


def changes(text: str, other: str) -> tuple[list[Mark], list[Mark]]:
    """Mark the words of two texts that differ, as `removed` in the first text and `added` in the second.

    Long texts are compared line by line first. If they still differ over a long stretch, all of it is marked.
    """
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
