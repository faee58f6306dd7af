"""Findings about what a chat template leaves out of the prompts."""

from __future__ import annotations

from collections.abc import Iterator

from promptpress_workbench.audit.check import Check
from promptpress_workbench.audit.codes import CODES
from promptpress_workbench.audit.findings import Finding, Rows, finding_of
from promptpress_workbench.audit.subject import Subject


class LeftOutParts(Check):
    """Messages, calls, arguments and tokens that a chat template leaves out; rendering counts them."""

    codes = (
        *("message_left_out", "tool_call_left_out", "tools_left_out", "documents_left_out"),
        *("reasoning_left_out", "name_left_out", "role_unknown_to_template", "bos_missing"),
    )
    reads_requests = True

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        return subject.chat_settings is not None

    def findings(self) -> Iterator[Finding]:
        for (code, location), rows, first_rows in self._subject.lacking.items():
            yield finding_of(code, f"{CODES[code].meaning}: {location}", Rows(rows, first_rows))
        for name in self._subject.engine.missing_tokens:
            yield finding_of("bos_missing", f"{CODES['bos_missing'].meaning}: {name}")
