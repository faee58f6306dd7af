"""Findings as a page of text, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import counted

from promptpress_workbench.audit.codes import SEVERITIES
from promptpress_workbench.prompts.escapes import printable
from promptpress_workbench.prompts.layout import Fragment, Line

_MARKS = {"error": frozenset({"removed"}), "warning": frozenset({"match"}), "info": frozenset[str]()}
_MAX_ROWS = 6
_STYLE = """\
.pp-finding{border-left:3px solid #8b93a0;padding:0 0 0 10px;margin:0 0 12px;text-align:left}
.pp-finding.pp-of-error{border-color:#d33f49}.pp-finding.pp-of-warning{border-color:#c98a00}
.pp-finding-head{font-weight:600}.pp-finding-rows,.pp-finding-remedy{opacity:.75}
"""


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


def findings_html(table: pa.Table) -> str:
    """Return a table of `audit` as HTML with its style sheet."""
    findings = table.to_pylist()
    body = "".join(map(_html, findings))
    head = counted_severities(finding["severity"] for finding in findings)
    return f'<style>{_STYLE}</style><div class="pp-findings-head">{escape(head)}</div>{body}'


def _html(finding: Mapping[str, Any]) -> str:
    severity, code, rows = str(finding["severity"]), str(finding["code"]), rows_text(finding)
    message, remedy = (escape(printable(finding[name])) for name in ("message", "remedy"))
    return (
        f'<div class="pp-finding pp-of-{severity}"><span class="pp-finding-head">{severity}: {escape(code)}</span>'
        f'<span class="pp-finding-rows">{f" · {rows}" if rows else ""}</span>'
        f'<div>{message}</div><div class="pp-finding-remedy">to do: {remedy}</div></div>'
    )
