"""Figures and findings of all prompts, as the page plots and lists them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from promptpress import Statistics
from promptpress.engine.errors import counted

from promptpress_workbench.prompts.escapes import one_line, printable
from promptpress_workbench.prompts.html import COLORS
from promptpress_workbench.prompts.kinds import described, kind_of
from promptpress_workbench.prompts.prompt import Piece

_MAX_SHARES = 14


def _mixed(colour: str, other: str) -> str:
    """Mix two colours, so that the result can be seen on white and on black."""
    parts = ((int(colour[i : i + 2], 16) + int(other[i : i + 2], 16)) // 2 for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


ORIGIN_COLOURS = {kind: _mixed(colours[0], colours[2]) for kind, colours in COLORS.items()} | {"unknown": "#808791"}
"""The colour of each kind of origin: the mean of its text colours, light and dark."""


@dataclass(frozen=True)
class Share:
    """The bytes of one origin in all prompts, and their share in all bytes; the kind decides the colour."""

    name: str
    kind: str
    bytes: int
    share: float


def shares_of(figures: Statistics) -> list[Share]:
    """Return the bytes of each origin, the largest first and small ones together as the last; none without origins."""
    if figures.by_origin is None:
        return []
    out = []
    for origin in figures.by_origin.to_pylist():
        piece = Piece("", origin["source"], origin["column"], None, origin["role"])
        example = Piece("", origin["source"], origin["column"], 0, None) if origin["example"] else piece
        name = described(piece) + (", in examples" if origin["example"] else "")
        out.append(Share(one_line(name), kind_of(example), origin["bytes"], origin["share"]))
    out, rest = out[:_MAX_SHARES], out[_MAX_SHARES:]
    if rest:
        both = sum(share.bytes for share in rest), sum(share.share for share in rest)
        out.append(Share(f"{len(rest)} others", "unknown", *both))
    return out


def lengths_of(table: pa.Table) -> list[tuple[int, str]]:
    """Return the rows of the longest or shortest prompts, each with its size and label."""
    out = []
    for entry in table.to_pylist():
        row = entry["request"] if entry["sample"] is None else entry["sample"]
        label = "" if entry["label"] is None else f", label {entry['label']}"
        out.append((row, f"{counted(entry['bytes'], 'byte')}{label}"))
    return out


def repeated_of(figures: Statistics) -> list[tuple[int, list[int]]]:
    """Return the size and the first rows of the largest groups of equal prompts; no rows if samples aren't known."""
    times, left = divmod(figures.requests, figures.samples or figures.requests or 1)
    groups = figures.duplicates.to_pylist()
    if left or not times:
        return [(group["requests"], []) for group in groups]
    return [(group["requests"], sorted({request // times for request in group["first"]})) for group in groups]


@dataclass(frozen=True)
class ListedFinding:
    """A finding of an audit, with no hidden characters in its texts, and the first rows to go to."""

    severity: str
    code: str
    message: str
    remedy: str
    rows: list[int]


def listed_findings(table: pa.Table) -> list[ListedFinding]:
    """Return the findings of a table of `Renderer.audit`, in its order."""
    out = []
    for entry in table.to_pylist():
        rows = entry["rows"]
        count = "" if rows is None else f" ({counted(rows, 'row')})"
        message, remedy = printable(entry["message"]) + count, printable(entry["remedy"])
        out.append(ListedFinding(entry["severity"], entry["code"], message, remedy, entry["first_rows"] or []))
    return out
