"""Findings about what a chat template leaves out of the prompts."""

from __future__ import annotations

from collections.abc import Iterator

from promptpress.engine import LeftOut, TableEngine

from promptpress_workbench.audit.codes import CODES
from promptpress_workbench.audit.findings import Finding, Rows, finding_of

_MORE = {"role_unknown_to_template", "bos_missing"}

LEFT_OUT = tuple(code for code in CODES if code.endswith("_left_out") or code in _MORE)
"""The codes of these findings."""


def left_out_findings(engine: TableEngine, lacking: LeftOut) -> Iterator[Finding]:
    """Yield a finding for each kind and place of what is left out, and for a token that the template lacks."""
    for (code, place), rows, first_rows in lacking.items():
        yield finding_of(code, f"{CODES[code].meaning}: {place}", Rows(rows, first_rows))
    for name in engine.missing_tokens:
        yield finding_of("bos_missing", f"{CODES['bos_missing'].meaning}: {name}")
