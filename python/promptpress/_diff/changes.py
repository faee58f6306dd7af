"""What differs within two texts, by words; bounded, however long they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from promptpress._diff.places import common_prefix, common_suffix
from promptpress._view.lines import Mark
from promptpress._view.prompt import Piece

__all__ = ["Window", "changes", "windows"]

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
_MAX_CHARACTERS = 1600
_MAX_TOKENS = 400
"""difflib takes the square of it, and in bad cases more."""

_CONTEXT = 160
_MAX_SHOWN = 1600


def changes(one: str, other: str) -> tuple[list[Mark], list[Mark]]:
    """Mark what differs in two texts.

    Args:
        one: A text.
        other: Another.

    Returns:
        Marks in the one (`removed`) and in the other (`added`): by words, or all between the first and the last
        difference where that is long.

    >>> changes("one two three", "one 2 three")
    ([(4, 7, 'removed')], [(4, 5, 'added')])

    """
    before = common_prefix(one, other)
    after = common_suffix(one, other, min(len(one), len(other)) - before)
    ends = len(one) - after, len(other) - after
    mine, yours = one[before : ends[0]], other[before : ends[1]]
    if max(len(mine), len(yours)) > _MAX_CHARACTERS:
        return _mark(before, ends[0], "removed"), _mark(before, ends[1], "added")
    tokens = _TOKEN.findall(mine), _TOKEN.findall(yours)
    if max(map(len, tokens)) > _MAX_TOKENS:
        return _mark(before, ends[0], "removed"), _mark(before, ends[1], "added")
    removed: list[Mark] = []
    added: list[Mark] = []
    codes = SequenceMatcher(None, *tokens, autojunk=False).get_opcodes()
    starts = [_starts(own, before) for own in tokens]
    for tag, a_start, a_end, b_start, b_end in codes:
        if tag != "equal":
            removed += _mark(starts[0][a_start], starts[0][a_end], "removed")
            added += _mark(starts[1][b_start], starts[1][b_end], "added")
    return removed, added


def _mark(start: int, end: int, what: str) -> list[Mark]:
    return [(start, end, what)] if start < end else []


def _starts(tokens: Sequence[str], at: int) -> list[int]:
    """Where each token begins, and where the last one ends."""
    out = [at]
    for token in tokens:
        out.append(out[-1] + len(token))
    return out


@dataclass(frozen=True)
class Window:
    """What is shown of a text.

    Args:
        pieces: The stretch.
        marks: What differs in it; places count from its start.
        before: How many characters of the text stand before it.
        after: How many stand behind it.

    """

    pieces: tuple[Piece, ...]
    marks: tuple[Mark, ...]
    before: int
    after: int


def windows(a: Sequence[Piece], b: Sequence[Piece]) -> tuple[Window, Window]:
    """Choose what is shown of two texts that differ: from a little before the first difference to a little after.

    Args:
        a: The pieces of the one.
        b: Those of the other.

    Returns:
        A stretch of each.

    >>> windows([Piece("same " * 99 + "one")], [Piece("same " * 99 + "two")])[0].marks
    ((160, 163, 'removed'),)

    """
    one, other = ("".join(piece.text for piece in pieces) for pieces in (a, b))
    marks = changes(one, other)
    begin = max(0, common_prefix(one, other) - _CONTEXT)
    out = []
    for pieces, text, own in ((a, one, marks[0]), (b, other, marks[1])):
        last = max([begin, *(mark[1] for mark in own)])
        end = min(len(text), last + _CONTEXT, begin + _CONTEXT + _MAX_SHOWN)
        inside = [(start - begin, min(stop, end) - begin, what) for start, stop, what in own if start < end]
        out.append(Window(_cut(pieces, begin, end), tuple(inside), begin, len(text) - end))
    return out[0], out[1]


def _cut(pieces: Sequence[Piece], start: int, end: int) -> tuple[Piece, ...]:
    out = []
    at = 0
    for piece in pieces:
        text = piece.text[max(start - at, 0) : max(end - at, 0)]
        if text or (not piece.text and start <= at <= end):
            out.append(Piece(text, piece.source, piece.column, piece.example, piece.role))
        at += len(piece.text)
    return tuple(out)
