"""Kinds of origins: what a piece is shown as, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from promptpress._view.prompt import Piece

__all__ = ["KINDS", "Kind", "described", "kind_of", "legend"]

Kind: TypeAlias = Literal["template", "column", "example", "example_column", "meta", "separator", "masked", "unknown"]
"""What a piece is shown as."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_OF_SOURCE: dict[str | None, Kind] = {
    None: "unknown",
    "field": "column",
    "ice_template": "example",
    "separator": "separator",
    "masked": "masked",
}

_NAMES: dict[Kind, str] = {
    "template": "template",
    "column": "column",
    "example": "example",
    "example_column": "example's column",
    "meta": "meta template",
    "separator": "separator",
    "masked": "masked answer",
    "unknown": "not known",
}


def kind_of(piece: Piece) -> Kind:
    """Say as what a piece is shown.

    Args:
        piece: Any piece.

    Returns:
        Its kind. What stands in an example is the example's; the words around examples and roles are the model's.

    >>> kind_of(Piece("x", "field", "q", 0)), kind_of(Piece("x", "role.begin")), kind_of(Piece("x", "prompt_template"))
    ('example_column', 'meta', 'template')

    """
    source = piece.source
    if source is not None and source.startswith(("meta_template", "role.")):
        return "meta"
    kind = _OF_SOURCE.get(source, "template")
    if piece.example is not None and kind != "masked":
        return "example_column" if kind == "column" else "example"
    return kind


def described(piece: Piece) -> str:
    """Say in a few words where a piece comes from.

    Args:
        piece: Any piece.

    Returns:
        Such as `column question, example 0`.

    >>> described(Piece("x", "field", "q", 0, "HUMAN"))
    'column q, example 0, role HUMAN'
    >>> described(Piece("x", "role.begin", None, None, "BOT"))
    'meta template (role.begin), role BOT'

    """
    kind = kind_of(piece)
    said = _NAMES[kind]
    if piece.source == "field":
        said = f"column {piece.column}"
    elif kind == "masked":
        said = f"masked answer, column {piece.column}"
    elif piece.source is not None:
        plain = {"prompt_template": "prompt template", "ice_template": "example template", "separator": "separator"}
        said = plain.get(piece.source) or f"{_NAMES[kind]} ({piece.source})"
    example = "" if piece.example is None else f", example {piece.example}"
    return said + example + ("" if piece.role is None else f", role {piece.role}")


def legend(pieces: Iterable[Piece]) -> list[tuple[Kind, str]]:
    """List the kinds that stand in some pieces, with their names and columns.

    Args:
        pieces: Those that are shown.

    Returns:
        A kind and what is said of it, in the order of `KINDS`; nothing where no origin is known.

    >>> legend([Piece("x", "field", "q"), Piece("y", "prompt_template"), Piece("z", "field", "a")])
    [('template', 'template'), ('column', 'column: q, a')]

    """
    columns: dict[Kind, dict[str, None]] = {}
    for piece in pieces:
        found = columns.setdefault(kind_of(piece), {})
        if piece.column is not None:
            found[piece.column] = None
    if set(columns) <= {"unknown"}:
        return []
    return [
        (kind, _NAMES[kind] + (f": {', '.join(columns[kind])}" if columns[kind] else ""))
        for kind in KINDS
        if kind in columns
    ]
