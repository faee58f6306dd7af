"""Templates of `str.format`, cut into literal text and fields."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import NamedTuple

from promptpress._errors.file_errors import ConfigError

__all__ = ["Piece", "merged", "pieces_of"]


class Piece(NamedTuple):
    """A part of a template: literal text, or the name of a field.

    Args:
        text: The literal text, or the field's name.
        is_field: True for a field.

    """

    text: str
    is_field: bool = False


def pieces_of(template: str, location: str) -> tuple[Piece, ...]:
    """Cut a template of `str.format` into its pieces.

    Args:
        template: The template.
        location: The file and the key of the template, for errors.

    Raises:
        ConfigError: If `str.format` can't read the template, or a field asks for more than the text of a column.

    >>> pieces_of("{{{q}}}", "a.json: template")
    (Piece(text='{', is_field=False), Piece(text='q', is_field=True), Piece(text='}', is_field=False))

    """
    pieces: list[Piece] = []
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ConfigError(f"{location}: str.format can't read it: {error}") from None
    for literal, field, spec, conversion in parsed:
        pieces.append(Piece(literal))
        if field is None:
            continue
        if spec or conversion or not field or field.isdigit() or {".", "["} & set(field):
            field_text = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            message = f"{{{field_text}}}: a field is the bare name of a column; give the column the form that is meant"
            raise ConfigError(f"{location}: {message}")
        pieces.append(Piece(field, is_field=True))
    return merged(pieces)


def merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join literal texts that follow one another, and leave out empty ones."""
    result: list[Piece] = []
    for piece in pieces:
        if result and not piece.is_field and not result[-1].is_field:
            result[-1] = Piece(result[-1].text + piece.text)
        elif piece.text:
            result.append(piece)
    return tuple(result)
