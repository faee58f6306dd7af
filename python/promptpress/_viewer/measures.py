"""Figures of all prompts, as the page plots them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from promptpress import Statistics
from promptpress._view.html import COLORS
from promptpress._view.origins import described, kind_of
from promptpress._view.prompt import Piece
from promptpress._view.visible import one_line

_SHOWN = 14


def _between(one: str, other: str) -> str:
    """Mix two colours, so that the result can be seen on white and on black."""
    parts = ((int(one[at : at + 2], 16) + int(other[at : at + 2], 16)) // 2 for at in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


ORIGIN_COLOURS = {kind: _between(colours[0], colours[2]) for kind, colours in COLORS.items()} | {"unknown": "#808791"}
"""The colour of each kind of origin: between those that its text has, light and dark."""


@dataclass(frozen=True)
class Share:
    """How much of all prompts comes from one place.

    Args:
        name: what is said of it.
        kind: as what its pieces are shown.
        bytes: how many bytes.
        share: which part of all.

    """

    name: str
    kind: str
    bytes: int
    share: float


def shares_of(figures: Statistics) -> list[Share]:
    """Say which bytes come from where, the largest first.

    Args:
        figures: of all prompts.

    Returns:
        The shares; the small ones together as the last. None where origins aren't known.

    Example:
        >>> import pyarrow as pa, promptpress as pp
        >>> figures = pp.stats(pp.Renderer("Q: {q}"), pa.table({"q": ["1+1=?"]}))
        >>> [(share.name, share.bytes) for share in shares_of(figures)]
        [('column q', 5), ('prompt template', 3)]

    """
    if figures.by_origin is None:
        return []
    out = []
    for one in figures.by_origin.to_pylist():
        piece = Piece("", one["source"], one["column"], None, one["role"])
        example = Piece("", one["source"], one["column"], 0, None) if one["example"] else piece
        name = described(piece) + (", in examples" if one["example"] else "")
        out.append(Share(one_line(name), kind_of(example), one["bytes"], one["share"]))
    shown, rest = out[:_SHOWN], out[_SHOWN:]
    if rest:
        both = sum(share.bytes for share in rest), sum(share.share for share in rest)
        shown.append(Share(f"{len(rest)} others", "unknown", *both))
    return shown


def lengths_of(table: pa.Table) -> list[tuple[int, str]]:
    """Give the rows of the longest or shortest prompts, with what is said of them."""
    out = []
    for one in table.to_pylist():
        row = one["request"] if one["sample"] is None else one["sample"]
        label = "" if one["label"] is None else f", label {one['label']}"
        out.append((row, f"{one['bytes']:,} bytes{label}"))
    return out


def repeated_of(figures: Statistics) -> list[tuple[int, list[int]]]:
    """Give the largest groups of equal prompts: how many, and the rows of the first.

    Args:
        figures: of all prompts.

    Returns:
        The groups, the largest first. Without rows where requests don't tell which sample they are of.

    """
    times, left = divmod(figures.requests, figures.samples or figures.requests or 1)
    groups = figures.duplicates.to_pylist()
    if left or not times:
        return [(group["requests"], []) for group in groups]
    return [(group["requests"], sorted({request // times for request in group["first"]})) for group in groups]
