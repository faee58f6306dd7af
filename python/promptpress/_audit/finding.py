"""One finding, the rows that it is about, and the table of all findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import pyarrow as pa

from promptpress._audit.codes import CODES, SEVERITIES, Severity

__all__ = ["MAX_FIRST_ROWS", "SCHEMA", "Finding", "Rows", "finding_of", "table_of"]

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


@dataclass
class Rows:
    """Rows with the same finding: their number, the first ones, and the bytes in the first row that it is about."""

    count: int = 0
    first: list[int] = field(default_factory=list)
    start: int | None = None
    end: int | None = None

    def add(self, rows: pa.Array | Iterable[int], start: int | None = None, end: int | None = None) -> None:
        """Add ascending row numbers, each once, after those that were added before.

        Args:
            rows: The row numbers.
            start: The first byte in the first of these rows.
            end: The byte after the last one.

        """
        numbers = rows if isinstance(rows, pa.Array) else pa.array(list(rows), pa.int64())
        if not len(numbers):
            return
        if not self.count:
            self.start, self.end = start, end
        self.first += numbers.slice(0, MAX_FIRST_ROWS - len(self.first)).to_pylist()
        self.count += len(numbers)

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(frozen=True)
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
    """Make a finding with the severity and the remedy of its code.

    Args:
        code: One of `CODES`.
        message: A description without the rows.
        rows: The rows with this finding.
        column: The samples' column with this finding; None if bytes count within the request.
    """
    severity, remedy = CODES[code].severity, CODES[code].remedy
    if rows is None:
        return Finding(code, severity, message, remedy, column=column)
    return Finding(code, severity, message, remedy, rows.count, rows.first, column, rows.start, rows.end)


def table_of(findings: Iterable[Finding]) -> pa.Table:
    """Make the table of findings that users see, the most serious first."""
    ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return pa.Table.from_pylist([asdict(finding) for finding in ordered], schema=SCHEMA)
