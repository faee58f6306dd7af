"""Findings about the configuration, the schema and the template: notes, unused columns, and unknown origins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from promptpress.engine import find_notes

from promptpress_workbench.audit.batch import Batch
from promptpress_workbench.audit.checks.check import Check, ConfiguredCheck
from promptpress_workbench.audit.codes import NOTES, Severity
from promptpress_workbench.audit.finding import Finding, Rows, finding_of
from promptpress_workbench.audit.subject import Subject, TemplateSubject

_BY_ROWS = {"same_table", "chosen_samples"}
"""Notes on tables, whose rows another check compares one by one."""


class Notes(ConfiguredCheck):
    """The notes of the renderer."""

    codes = tuple(NOTES)

    def findings(self) -> Iterator[Finding]:
        for note in find_notes(self._subject.engine.configuration, self._subject.schema, None):
            if note.code not in _BY_ROWS:
                severity = cast("Severity", note.severity)
                yield Finding(note.code, severity, f"{note.place}: {note.message}", note.remedy)


class UnknownOrigins(Check):
    """Rows of which no check knows the columns that they show."""

    codes = ("unknown_origins",)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._rows = Rows()

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        return isinstance(subject, TemplateSubject)

    def add(self, batch: Batch) -> None:
        self._rows.add(batch.row_numbers(batch.unknown_rows))

    def findings(self) -> Iterator[Finding]:
        if self._rows:
            message = "it isn't known which columns the text shows, so all that the template reads count as shown"
            yield finding_of("unknown_origins", message, self._rows)


class UnusedColumns(ConfiguredCheck):
    """Input columns that no template shows."""

    codes = ("unused_column",)

    def findings(self) -> Iterator[Finding]:
        subject = self._subject
        used = {
            *subject.template_columns,
            *subject.example_columns,
            subject.core.index_column,
            subject.core.label_column,
            subject.output_column,
        }
        for name in subject.input_columns:
            if name in subject.schema.names and name not in used:
                message = f"the reader reads column {name!r}, and no template shows it"
                yield finding_of("unused_column", message, column=name)
