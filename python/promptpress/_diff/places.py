"""Where two prompts begin to differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, TypeAlias

from promptpress._view.prompt import Piece, Prompt

__all__ = ["Change", "Place", "common_prefix", "common_suffix", "first_difference"]

Change: TypeAlias = Literal["text", "role", "fields", "parts", "messages", "form", "null", "only_a", "only_b"]
"""What differs first: a text; a role; what a message holds beside; how many parts or messages there are; a text on one
side and messages on the other; a null on one side; or the whole request, which one side lacks."""


@dataclass(frozen=True)
class Place:
    """Where two prompts begin to differ.

    Args:
        change: What differs.
        message: The number of the message; None for bare texts.
        part: The number of the part, where there are parts.
        start: Of a text: how many bytes are equal before; both sides' texts differ from there on.
        character: The same in characters.
        a: The first side's piece there; None at its end.
        b: The other's.

    """

    change: Change
    message: int | None = None
    part: int | None = None
    start: int | None = None
    character: int | None = None
    a: Piece | None = None
    b: Piece | None = None


def first_difference(a: Prompt, b: Prompt) -> Place | None:  # noqa: PLR0911 - a kind of difference each
    """Find where two prompts begin to differ.

    Args:
        a: One prompt.
        b: The other.

    Returns:
        The place; None if they are equal.

    >>> place = first_difference(Prompt(0, "é1", (Piece("é1"),)), Prompt(0, "é2", (Piece("é2"),)))
    >>> place.start, place.character
    (2, 1)

    """
    if (a.request is None) != (b.request is None):
        return Place("null")
    if a.messages is None or b.messages is None:
        if (a.messages is None) != (b.messages is None):
            return Place("form")
        return _texts(a.pieces, b.pieces, None, None)
    for number, (mine, yours) in enumerate(zip_longest(a.messages, b.messages)):
        if mine is None or yours is None:
            return Place("messages", number)
        if mine.role != yours.role:
            return Place("role", number)
        for part, (one, other) in enumerate(zip(mine.parts, yours.parts, strict=False)):
            if (one.kind, one.fields) != (other.kind, other.fields):
                return Place("fields", number, part)
            if place := _texts(one.pieces, other.pieces, number, part):
                return place
        if len(mine.parts) != len(yours.parts):
            return Place("parts", number, min(len(mine.parts), len(yours.parts)))
        if place := _texts(mine.pieces, yours.pieces, number, None):
            return place
        if (mine.fields, mine.key) != (yours.fields, yours.key):
            return Place("fields", number)
    return None


def _texts(a: tuple[Piece, ...], b: tuple[Piece, ...], message: int | None, part: int | None) -> Place | None:
    one, other = ("".join(piece.text for piece in pieces) for pieces in (a, b))
    if one == other:
        return None
    at = common_prefix(one, other)
    start = len(one[:at].encode("utf-8", "surrogatepass"))
    there = [_piece(pieces, at, with_hidden=True) for pieces in (a, b)]
    if all(piece is not None and not piece.text for piece in there):  # which isn't what differs
        there = [_piece(pieces, at, with_hidden=False) for pieces in (a, b)]
    return Place("text", message, part, start, at, *there)


def _piece(pieces: tuple[Piece, ...], at: int, *, with_hidden: bool) -> Piece | None:
    """The piece that the character `at` is of, or the place of a hidden answer right before it."""
    for piece in pieces:
        if at < len(piece.text) or (with_hidden and at == 0 and not piece.text):
            return piece
        at -= len(piece.text)
    return None


def common_prefix(one: str, other: str) -> int:
    """Count the characters that two texts begin with together.

    >>> common_prefix("abc", "abd")
    2

    """
    low, high = 0, min(len(one), len(other))
    while low < high:  # a comparison of slices is far faster than a loop over a megabyte
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def common_suffix(one: str, other: str, most: int) -> int:
    """Count the characters that two texts end with together, but `most` at most.

    >>> common_suffix("abc", "xbc", 1)
    1

    """
    low, high = 0, min(len(one), len(other), most)
    while low < high:
        middle = (low + high + 1) // 2
        alike = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        low, high = (middle, high) if alike else (low, middle - 1)
    return low
