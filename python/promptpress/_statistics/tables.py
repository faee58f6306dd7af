"""What is shown of statistics, whether as text or as HTML: headings, and tables of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from promptpress._statistics.statistics import LengthSummary, Statistics
from promptpress._statistics.visible import visible

__all__ = ["Shown", "heading", "shown_tables"]

_MAX_ORIGINS = 20


@dataclass(frozen=True)
class Shown:
    """A table: its title, its columns, and its rows; `shares` holds the length of a bar for each row, from 0 to 1."""

    title: str
    names: list[str]
    rows: list[list[str]]
    shares: list[float] | None = None
    texts: int = 1
    """How many of the first columns are texts; the others are numbers."""


def heading(own: Statistics) -> str:
    """Say how many requests there are.

    Args:
        own: The statistics.

    Returns:
        A line.

    """
    of = "" if own.samples is None else f" of {_counted(own.samples, 'sample')}"
    return f"{_counted(own.requests, 'request')}{of}"


def shown_tables(own: Statistics) -> list[Shown]:
    """Put together all that is shown.

    Args:
        own: The statistics.

    Returns:
        The tables, in order; those without rows left out but for duplicates, of which it is said that there are none.

    """
    tables = [_lengths(own), _histogram("requests by length in bytes", own.bytes)]
    if own.tokens is not None:
        tables.append(_histogram("requests by length in tokens", own.tokens))
    if own.by_origin is not None and own.by_column is not None:
        tables += [_origins(own), _columns(own)]
    tables += [_duplicates(own), _best("longest", own.longest), _best("shortest", own.shortest)]
    return [table for table in tables if table.rows or table.title.startswith("duplicates")]


def _lengths(own: Statistics) -> Shown:
    units = {"bytes": own.bytes, "characters": own.characters}
    if own.tokens is not None:
        units["tokens"] = own.tokens
    summaries = list(units.values())
    rows = [["sum", *(f"{one.sum:,}" for one in summaries)]]
    if own.requests:
        rows += [["mean", *(f"{one.mean:,.1f}" for one in summaries)], ["min", *(f"{one.min:,}" for one in summaries)]]
        rows += [
            [f"{percent} %", *(f"{one.percentiles[percent]:,}" for one in summaries)]
            for percent in own.bytes.percentiles
        ]
        rows.append(["max", *(f"{one.max:,}" for one in summaries)])
    return Shown("length of a request", ["", *units], rows)


def _histogram(title: str, lengths: LengthSummary) -> Shown:
    bins = lengths.histogram.to_pylist()
    most = max((one["requests"] for one in bins), default=0)
    rows = [[f"{one['start']:,}", f"{one['end'] - 1:,}", f"{one['requests']:,}"] for one in bins]
    return Shown(title, ["from", "to", "requests"], rows, [one["requests"] / most for one in bins], texts=0)


def _origins(own: Statistics) -> Shown:
    rows = [] if own.by_origin is None else own.by_origin.to_pylist()
    shown = [
        [one["source"], visible(one["column"]), "yes" if one["example"] else "", visible(one["role"]), *_size(one)]
        for one in rows[:_MAX_ORIGINS]
    ]
    left = rows[_MAX_ORIGINS:]
    if left:
        rest = {"bytes": sum(one["bytes"] for one in left), "share": sum(one["share"] for one in left)}
        shown.append([f"{len(left):,} others", "", "", "", *_size(rest)])
        rows = [*rows[:_MAX_ORIGINS], rest]
    shares = [one["share"] for one in rows]
    return Shown("bytes by origin", ["source", "column", "example", "role", "bytes", "share"], shown, shares, texts=4)


def _columns(own: Statistics) -> Shown:
    rows = [] if own.by_column is None else own.by_column.to_pylist()
    shown = [["(no column)" if one["column"] is None else visible(one["column"]), *_size(one)] for one in rows]
    return Shown("bytes by column", ["column", "bytes", "share"], shown, [one["share"] for one in rows])


def _duplicates(own: Statistics) -> Shown:
    if not own.repeated:
        return Shown("duplicates: no request repeats an earlier one", [], [])
    groups = own.duplicates.to_pylist()
    rows = [
        [
            f"{one['requests']:,}",
            ", ".join(map(str, one["first"])) + (", ..." if one["requests"] > len(one["first"]) else ""),
        ]
        for one in groups
    ]
    share = own.repeated / own.requests
    verb = "repeats" if own.repeated == 1 else "repeat"
    title = f"duplicates: {_counted(own.repeated, 'request')} ({share:.1%}) {verb} an earlier one"
    if own.duplicate_groups > len(groups):
        title += f"; the largest of {own.duplicate_groups:,} groups"
    return Shown(title, ["equal", "requests"], rows, texts=2)


def _best(title: str, table: Any) -> Shown:
    rows = table.to_pylist()
    names = ["request", *(name for name in ("sample", "label", "turn") if any(one[name] is not None for one in rows))]
    if names == ["request", "sample"] and all(one["request"] == one["sample"] for one in rows):
        names = ["sample"]
    shown = [[*(visible(one[name]) for name in names), f"{one['bytes']:,}"] for one in rows]
    return Shown(title, [*names, "bytes"], shown, texts=0)


def _size(one: dict[str, Any]) -> list[str]:
    return [f"{one['bytes']:,}", f"{one['share']:.1%}"]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
