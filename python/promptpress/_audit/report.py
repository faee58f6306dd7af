"""Findings as a page of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from promptpress._audit.codes import SEVERITIES
from promptpress._view.lines import Fragment
from promptpress._view.visible import printable

__all__ = ["report_lines", "summary"]

_MARKS = {"error": frozenset({"removed"}), "warning": frozenset({"match"}), "info": frozenset[str]()}
_ROWS_SHOWN = 6

Line = list[Fragment]


def report_lines(table: pa.Table, show: Callable[[int], str]) -> Iterator[Line]:
    """Give the lines of a page: of each finding what it is, in which rows, what to do, and how to see the first.

    Args:
        table: The findings.
        show: Makes the command that shows a row.

    Yields:
        Lines, with nothing in them that could steer a terminal.

    """
    for one in table.to_pylist():
        severity = str(one["severity"])
        rows = _rows(one)
        yield [
            Fragment(f"{severity:8}", "head", _MARKS[severity]),
            Fragment(f" {one['code']}", "head"),
            Fragment(f"  {rows}" if rows else "", "text"),
        ]
        yield [Fragment(f"  {printable(one['message'])}")]
        yield [Fragment(f"  to do: {printable(one['remedy'])}", "text")]
        if one["first_rows"]:
            yield [Fragment(f"  {printable(show(one['first_rows'][0]))}", "text")]
        yield []


def _rows(one: dict[str, Any]) -> str:
    """Say which rows a finding is of."""
    if one["rows"] is None:
        return ""
    shown = ", ".join(f"{row}" for row in one["first_rows"][:_ROWS_SHOWN])
    more = ", …" if one["rows"] > _ROWS_SHOWN else ""
    return f"{one['rows']:,} row{'s' if one['rows'] != 1 else ''}: {shown}{more}"


def summary(severities: Iterable[str], rows: int) -> str:
    """Say in one line how many findings there are.

    >>> summary(["error", "info", "info"], 24)
    '1 error, 2 infos in 24 rows'
    >>> summary([], 1)
    'no findings in 1 row'

    """
    counted = list(severities)
    parts = [f"{count:,} {name}{'s' if count != 1 else ''}" for name in SEVERITIES if (count := counted.count(name))]
    return f"{', '.join(parts) or 'no findings'} in {rows:,} row{'s' if rows != 1 else ''}"
