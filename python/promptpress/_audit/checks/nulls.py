"""Nulls that the prompt shows as a word."""

from __future__ import annotations

from collections.abc import Iterator

from promptpress import _compute as pc
from promptpress._audit.batch import Batch
from promptpress._audit.example_rows import ExampleRows, finding_of_examples
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.shown import nulls_of
from promptpress._audit.subject import Subject

__all__ = ["Nulls"]


class Nulls:
    """Null values of columns that prompts show."""

    def __init__(self, subject: Subject) -> None:
        self._examples = ExampleRows.of(subject)
        self._rows = {name: Rows() for name in subject.schema.names}

    @classmethod
    def of(cls, subject: Subject) -> Nulls:
        """Any column may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look for nulls."""
        for name in batch.names:
            nulls = pc.indices_nonzero(nulls_of(batch.column(name)))
            if len(nulls):
                self._rows[name].add(batch.numbers(batch.visible(name, nulls)))

    def findings(self) -> Iterator[Finding]:
        """Name the columns."""
        for name, rows in self._rows.items():
            if rows:
                yield finding_of("null_value", f"column {name!r} is null, and the prompt shows it as None", rows, name)
        for examples, name in ExampleRows.names_of(self._examples):
            of_examples = Rows()
            nulls = pc.indices_nonzero(nulls_of(examples.column(name)))
            of_examples.add(examples.numbers(examples.visible(name, nulls)))
            if of_examples:
                message = "it is null, and examples show it as None"
                yield finding_of_examples("null_value", message, of_examples, name)
