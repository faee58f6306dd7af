"""One finding, the rows that it is about, and the table of all findings; arrays of row numbers (int64)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import counted
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import take_rows

from promptpress_workbench.audit.codes import CODES, SEVERITIES, Severity
from promptpress_workbench.prompts.escapes import printable
from promptpress_workbench.prompts.layout import Fragment, Line

MAX_FIRST_ROWS = 10
"""The number of rows that a finding lists."""

SCHEMA = pa.schema(
    [
        ("code", pa.string()),
        ("severity", pa.string()),
        ("rows", pa.int64()),
        ("first_rows", pa.list_(pa.int64())),
        ("column", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("message", pa.string()),
        ("remedy", pa.string()),
    ]
)

_MARKS = {"error": frozenset({"removed"}), "warning": frozenset({"match"}), "info": frozenset[str]()}
_MAX_ROWS = 6
_STYLE = """\
.pp-finding{border-left:3px solid #8b93a0;padding:0 0 0 10px;margin:0 0 12px;text-align:left}
.pp-finding.pp-of-error{border-color:#d33f49}.pp-finding.pp-of-warning{border-color:#c98a00}
.pp-finding-head{font-weight:600}.pp-finding-rows,.pp-finding-remedy{opacity:.75}
"""


@dataclass
class Rows:
    """Rows with the same finding: their number, the first ones, and the bytes in the first row that it is about."""

    count: int = 0
    first: list[int] = field(default_factory=list)
    start: int | None = None
    end: int | None = None

    def add(self, rows: pa.Array | Iterable[int], start: int | None = None, end: int | None = None) -> None:
        """Add further row numbers, ascending; `start` and `end` are the bytes in the first that it is about."""
        numbers = rows if isinstance(rows, pa.Array) else pa.array(list(rows), pa.int64())
        if not len(numbers):
            return
        if not self.count:
            self.start, self.end = start, end
        self.first += numbers.slice(0, MAX_FIRST_ROWS - len(self.first)).to_pylist()
        self.count += len(numbers)

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass
class Finding:
    """One row of the table of findings; `rows` is None if the finding isn't about rows."""

    code: str
    severity: Severity
    message: str
    remedy: str
    rows: int | None = None
    first_rows: list[int] | None = None
    column: str | None = None
    start: int | None = None
    end: int | None = None


def finding_of(code: str, message: str, rows: Rows | None = None, column: str | None = None) -> Finding:
    """Make a finding of a code about rows; bytes of rows without a `column` are bytes of the request."""
    severity, remedy = CODES[code].severity, CODES[code].remedy
    if rows is None:
        return Finding(code, severity, message, remedy, column=column)
    return Finding(code, severity, message, remedy, rows.count, rows.first, column, rows.start, rows.end)


def table_of(findings: Iterable[Finding]) -> pa.Table:
    """Make the table of findings that users see, the most serious first."""
    ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return pa.Table.from_pylist([asdict(finding) for finding in ordered], schema=SCHEMA)


def sorted_unique(rows: pa.Array) -> pa.Array:
    """Return row numbers in ascending order, each once."""
    unique = pc.unique(rows.cast(pa.int64()))
    return unique.take(pc.sort_indices(unique))


def without(rows: pa.Array, excluded: pa.Array) -> pa.Array:
    """Return the row numbers that aren't among others."""
    return rows.filter(pc.invert(pc.is_in(rows, value_set=excluded)))


def concatenated(arrays: Iterable[pa.Array]) -> pa.Array:
    """Concatenate arrays of row numbers, of which there may be none."""
    return pa.concat_arrays([pa.array([], pa.int64()), *arrays])


def take_column(column: pa.Array | pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """Take rows of a column, also of types that pyarrow can't take from, such as views."""
    try:
        out = column.take(rows)
    except pa.ArrowNotImplementedError:
        return pa.chunked_array(take_rows(column, rows.cast(pa.int64())), column.type)
    return pa.chunked_array([out]) if isinstance(out, pa.Array) else out


def take_table(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Take rows of a table with columns of any type."""
    return pa.Table.from_arrays([take_column(column, rows) for column in table.columns], schema=table.schema)


def report_lines(table: pa.Table, show: Callable[[int], str]) -> Iterator[Line]:
    """Yield the lines of each finding: code and rows, message, remedy, and the command that shows the first row."""
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
    """Return the number of findings of each severity in one line."""
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
