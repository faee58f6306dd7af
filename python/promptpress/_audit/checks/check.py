"""What a check is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from promptpress._audit.batch import Batch
from promptpress._audit.finding import Finding
from promptpress._audit.subject import Subject

__all__ = ["Check"]


class Check(Protocol):
    """One concern: told of the configuration and the schema, shown each batch, and asked at the end."""

    @classmethod
    def of(cls, subject: Subject) -> Check | None:
        """Begin; None where it can't apply."""

    def add(self, batch: Batch) -> None:
        """Look at more samples, in their order."""

    def findings(self) -> Iterable[Finding]:
        """Say what was found."""
