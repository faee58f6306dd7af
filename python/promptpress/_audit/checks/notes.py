"""What the configuration and the schema say by themselves: the renderer's notes, and columns read for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from promptpress._audit.batch import Batch
from promptpress._audit.codes import Severity
from promptpress._audit.finding import Finding, finding_of
from promptpress._audit.subject import Subject
from promptpress._notes import find_notes

__all__ = ["Notes", "UnusedColumns"]

_BY_ROWS = {"same_table", "chosen_samples"}
"""Notes on tables that another check goes through row by row."""


class Notes:
    """The notes of the renderer."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @classmethod
    def of(cls, subject: Subject) -> Notes:
        """Any configuration may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look at no rows."""

    def findings(self) -> Iterator[Finding]:
        """Say them as findings."""
        for note in find_notes(self._subject.renderer, self._subject.schema, None):
            if note.code not in _BY_ROWS:
                severity = cast("Severity", note.severity)
                yield Finding(note.code, severity, f"{note.place}: {note.message}", note.remedy)


class UnusedColumns:
    """Input columns that no template shows."""

    def __init__(self, subject: Subject) -> None:
        shown = {
            *subject.template_columns,
            *subject.example_columns,
            subject.core.index_column,
            subject.core.label_column,
            subject.output_column,
        }
        self._names = [name for name in subject.input_columns if name in subject.schema.names and name not in shown]

    @classmethod
    def of(cls, subject: Subject) -> UnusedColumns:
        """Any configuration may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look at no rows."""

    def findings(self) -> Iterator[Finding]:
        """Name each."""
        for name in self._names:
            message = f"the reader reads column {name!r}, and no template shows it"
            yield finding_of("unused_column", message, column=name)
