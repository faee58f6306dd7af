"""What the audit finds, as the page lists it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from promptpress._view.visible import printable

__all__ = ["ShownFinding", "shown_findings"]


@dataclass(frozen=True)
class ShownFinding:
    """A finding, with nothing hidden in its texts.

    Args:
        severity: `error`, `warning` or `info`.
        code: Which kind.
        says: What is so, and of how many rows.
        remedy: What to do.
        rows: The first rows, to go to.

    """

    severity: str
    code: str
    says: str
    remedy: str
    rows: list[int]


def shown_findings(table: pa.Table) -> list[ShownFinding]:
    """Give what the page shows of an audit.

    Args:
        table: As `Renderer.audit` gives it.

    Returns:
        The findings, in its order.

    >>> import promptpress as pp
    >>> samples = pa.table({"q": ["1+1", "see {a}"], "a": ["2", "4"]})
    >>> (found,) = shown_findings(pp.Renderer("Q: {q}").audit(samples))
    >>> found.code, found.rows
    ('placeholder_filled', [1])

    """
    out = []
    for one in table.to_pylist():
        rows = one["rows"]
        counted = "" if rows is None else f" ({rows:,} row{'s' if rows != 1 else ''})"
        says = printable(one["message"]) + counted
        out.append(ShownFinding(one["severity"], one["code"], says, printable(one["remedy"]), one["first_rows"] or []))
    return out
