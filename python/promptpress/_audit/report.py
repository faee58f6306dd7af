"""Findings as a page of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from promptpress._audit.codes import SEVERITIES
from promptpress._prompts.layout import Line
from promptpress._prompts.lines import Fragment
from promptpress._utils.counted import counted
from promptpress._utils.escapes import printable

__all__ = ["counted_severities", "report_lines", "rows_text", "summary"]

_MARKS = {"error": frozenset({"removed"}), "warning": frozenset({"match"}), "info": frozenset[str]()}
_MAX_ROWS = 6


def report_lines(table: pa.Table, show: Callable[[int], str]) -> Iterator[Line]:
    """Yield the lines of each finding: code and rows, message, remedy, and the command that shows the first row.

    `show` makes the command that shows a row. No line holds characters that control a terminal.
    """
    for finding in table.to_pylist():
        severity = str(finding["severity"])
        rows = rows_text(finding)
        yield [
            Fragment(f"{severity:8}", "head", _MARKS[severity]),
            Fragment(f" {finding['code']}", "head"),
            Fragment(f"  {rows}" if rows else "", "text"),
        ]
        yield [Fragment(f"  {printable(finding['message'])}")]
        yield [Fragment(f"  to do: {printable(finding['remedy'])}", "text")]
        if finding["first_rows"]:
            yield [Fragment(f"  {printable(show(finding['first_rows'][0]))}", "text")]
        yield []


def rows_text(finding: Mapping[str, Any]) -> str:
    """Return the number of a finding's rows and the first of them; nothing if it is about the configuration."""
    count = finding["rows"]
    if count is None:
        return ""
    numbers = ", ".join(map(str, finding["first_rows"][:_MAX_ROWS])) + (", …" if count > _MAX_ROWS else "")
    return f"{counted(count, 'row')}: {numbers}"


def summary(severities: Iterable[str], rows: int) -> str:
    """Return the number of findings of each severity in one line.

    >>> summary(["error", "info", "info"], 24)
    '1 error, 2 infos in 24 rows'
    >>> summary([], 1)
    'no findings in 1 row'

    """
    return f"{counted_severities(severities)} in {counted(rows, 'row')}"


def counted_severities(severities: Iterable[str]) -> str:
    """Return the number of findings of each severity."""
    names = list(severities)
    return ", ".join(counted(number, name) for name in SEVERITIES if (number := names.count(name))) or "no findings"
