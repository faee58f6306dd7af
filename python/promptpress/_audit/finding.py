"""One finding, the rows that it is of, and the table of all findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from promptpress._audit.codes import CODES, SEVERITIES, Severity

__all__ = ["MAX_FIRST_ROWS", "SCHEMA", "Finding", "Rows", "finding_of", "table_of"]

MAX_FIRST_ROWS = 10
"""Of how many rows a finding says the numbers."""

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
    """Rows that have something in common: how many, the first ones, and the place in the first."""

    count: int = 0
    first: list[int] = field(default_factory=list)
    start: int | None = None
    end: int | None = None

    def add(self, rows: pa.Array | Iterable[int], start: int | None = None, end: int | None = None) -> None:
        """Add rows, each once, behind those that were added before.

        Args:
            rows: Their numbers, ascending.
            start: Where it begins in the first of these rows, in bytes.
            end: Where it ends there.

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
    """One finding, as a row of the table has it; `rows` is None for what isn't about rows."""

    code: str
    severity: Severity
    message: str
    remedy: str
    rows: int | None = None
    first_rows: list[int] | None = None
    column: str | None = None
    start: int | None = None
    end: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data, in the order of the table's columns."""
        return {name: getattr(self, name) for name in SCHEMA.names}


def finding_of(code: str, message: str, rows: Rows | None = None, column: str | None = None) -> Finding:
    """Make a finding of a known code.

    Args:
        code: One of `CODES`.
        message: What is so; without the rows.
        rows: Which rows it is of.
        column: The samples' column that it is of; where there is none, the place is one of the request.

    Returns:
        The finding, with its code's severity and remedy.

    >>> finding_of("empty_prompt", "the prompt has no text").severity
    'error'

    """
    known = CODES[code]
    if rows is None:
        return Finding(code, known.severity, message, known.remedy, column=column)
    return Finding(code, known.severity, message, known.remedy, rows.count, rows.first, column, rows.start, rows.end)


def table_of(findings: Iterable[Finding]) -> pa.Table:
    """Make the table of findings that users see, the most serious first.

    >>> table_of([]).column_names[:4]
    ['code', 'severity', 'rows', 'first_rows']

    """
    ordered = sorted(findings, key=lambda one: SEVERITIES.index(one.severity))
    return pa.Table.from_pylist([one.to_dict() for one in ordered], schema=SCHEMA)
