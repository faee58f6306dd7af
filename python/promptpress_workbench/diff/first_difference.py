"""The first difference of two prompts: its kind, and its location on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from promptpress_workbench.diff.alignment import aligned
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptMessage

Change: TypeAlias = Literal["text", "role", "fields", "parts", "messages", "form", "null", "only_a", "only_b"]
"""The kind of a difference: a text; a role; the other fields of a message; the number of parts; a message that one side
lacks; a text on one side and messages on the other; a null on one side; or a request that one side lacks."""


@dataclass(frozen=True)
class Location:
    """The location of the first difference of two prompts.

    Args:
        change: The kind of the difference.
        message: The number of the message on the first side, or on the second if only that has it; None for bare texts.
        part: The number of the part, if the message has parts.
        start: The number of equal bytes before the difference, if texts differ.
        character: The number of equal characters before it.
        a: The first side's piece there; None at the end of its text.
        b: The second side's piece there; None at the end of its text.
        only_in: The side that has the message if the other lacks it.

    """

    change: Change
    message: int | None = None
    part: int | None = None
    start: int | None = None
    character: int | None = None
    a: Piece | None = None
    b: Piece | None = None
    only_in: Literal["A", "B"] | None = None


def first_difference(a: Prompt, b: Prompt) -> Location | None:  # noqa: PLR0911 - a kind of difference each
    """Return the location of the first difference of two prompts; None if they are equal.

    >>> location = first_difference(Prompt(0, "é1", (Piece("é1"),)), Prompt(0, "é2", (Piece("é2"),)))
    >>> location.start, location.character
    (2, 1)

    """
    if (a.request is None) != (b.request is None):
        return Location("null")
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
