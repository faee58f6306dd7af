"""Kinds of origins, by which pieces are coloured, and their descriptions in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from promptpress_workbench.prompts.prompt import Piece, Prompt

Kind: TypeAlias = Literal[
    "template", "column", "example", "example_column", "meta", "separator", "masked", "filled", "unknown"
]
"""The kind of a piece, which decides its colour."""

_KIND_OF_SOURCE: dict[str | None, Kind] = {
    None: "unknown",
    "field": "column",
    "ice_template": "example",
    "separator": "separator",
    "masked": "masked",
    "chat_template": "meta",
    "filled_field": "filled",
    "filled_masked": "filled",
    "computed": "column",
    "argument": "column",
    "jinja2": "unknown",
}

_NAMES: dict[Kind, str] = {
    "template": "template",
    "column": "column",
    "example": "example",
    "example_column": "example's column",
    "meta": "meta template",
    "separator": "separator",
    "masked": "masked answer",
    "filled": "filled in from within a value",
    "unknown": "not known",
}

_SOURCE_NAMES = {
    "chat_template": "chat template",
    "prompt_template": "prompt template",
    "ice_template": "example template",
    "separator": "separator",
}
_WHOLE_DESCRIPTIONS = {"computed": "computed from columns", "jinja2": "not known"}


def kind_of(piece: Piece) -> Kind:
    """Return the kind of a piece.

    Within an example it is that of the example, around roles that of the meta template. What was masked, or filled in
    from within a value, is told everywhere.

    >>> kind_of(Piece("x", "field", "q", 0)), kind_of(Piece("x", "role.begin")), kind_of(Piece("x", "prompt_template"))
    ('example_column', 'meta', 'template')

    """
    source = piece.source
    if source is not None and source.startswith(("meta_template", "role.")):
        return "meta"
    kind = _KIND_OF_SOURCE.get(source, "template")
    if piece.example is not None and kind not in ("masked", "filled"):
        return "example_column" if kind == "column" else "example"
    return kind


def described(piece: Piece) -> str:
    """Describe the origin of a piece in a few words.

    >>> described(Piece("x", "field", "q", 0, "HUMAN"))
    'column q, example 0, role HUMAN'
    >>> described(Piece("x", "role.begin", None, None, "BOT"))
    'meta template (role.begin), role BOT'
    >>> described(Piece("42", "filled_field", "answer"))
    'filled in from within a value: column answer'

    """
    kind = kind_of(piece)
    origin = _NAMES[kind]
    if piece.source == "field":
        origin = f"column {piece.column}{piece.path or ''}"
    elif piece.source == "argument":
        origin = f"argument {piece.path or ''}"
    elif piece.source in _WHOLE_DESCRIPTIONS:
        origin = _WHOLE_DESCRIPTIONS[piece.source]
    elif piece.masked:
        masked = f"masked answer, column {piece.column}"
        origin = f"{origin}: {masked}" if kind == "filled" else masked
    elif kind == "filled":
        origin = f"{origin}: column {piece.column}"
    elif piece.source is not None and piece.source != kind:
        origin = _SOURCE_NAMES.get(piece.source) or f"{origin} ({piece.source})"
    example = "" if piece.example is None else f", example {piece.example}"
    return origin + example + ("" if piece.role is None else f", role {piece.role}")


def legend(prompts: Iterable[Prompt]) -> list[tuple[Kind, str]]:
    """Return the kinds of pieces in some prompts with their names and columns; nothing if no origin is known.

    >>> pieces = Piece("x", "field", "q"), Piece("y", "prompt_template"), Piece("z", "field", "a")
    >>> legend([Prompt(0, "xyz", pieces)])
    [('template', 'template'), ('column', 'column: q, a')]

    """
    columns: dict[Kind, dict[str, None]] = {}
    for piece in (piece for prompt in prompts for piece in prompt.all_pieces()):
        names = columns.setdefault(kind_of(piece), {})
        if piece.column is not None:
            names[piece.column] = None
    if set(columns) <= {"unknown"}:
        return []
    return [
        (kind, _NAMES[kind] + (f": {', '.join(columns[kind])}" if columns[kind] else ""))
        for kind in get_args(Kind)
        if kind in columns
    ]
