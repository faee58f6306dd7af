"""Findings as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pyarrow as pa

from promptpress._audit.report import counted_severities, rows_text
from promptpress._utils.escapes import printable

__all__ = ["findings_html"]

_STYLE = """\
.pp-finding{border-left:3px solid #8b93a0;padding:0 0 0 10px;margin:0 0 12px;text-align:left}
.pp-finding.pp-of-error{border-color:#d33f49}.pp-finding.pp-of-warning{border-color:#c98a00}
.pp-finding-head{font-weight:600}.pp-finding-rows,.pp-finding-remedy{opacity:.75}
"""


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
