"""The base classes of the checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar, Generic, TypeVar

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch
from promptpress_workbench.audit.finding import Finding
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject

AnySubject = TypeVar("AnySubject", bound=Subject)
AnyBatch = TypeVar("AnyBatch", bound=Batch)


class _AnyCheck(Generic[AnySubject, AnyBatch]):
    """One concern of an audit. It is made for a subject, sees each batch in order, and then yields its findings."""

    codes: ClassVar[Collection[str]]
    """The codes of the findings that it can yield."""
    reads_columns: ClassVar[bool] = False
    """True if it reads the columns that requests show; for a template, spans say which these are."""
    reads_requests: bool = False
    """True if it reads the requests of every batch, which are then rendered ahead."""

    def __init__(self, subject: AnySubject) -> None:
        self._subject = subject

    @classmethod
    def applies_to(cls, subject: AnySubject) -> bool:  # noqa: ARG003 - most checks apply to every subject
        """Return true if the check can find anything about a subject."""
        return True

    def add(self, batch: AnyBatch) -> None:
        """Look at more samples. Checks of the configuration alone look at none."""

    def findings(self) -> Iterable[Finding]:
        """Yield the findings."""
        raise NotImplementedError


class Check(_AnyCheck[Subject, Batch]):
    """A check for every renderer."""


class ConfiguredCheck(_AnyCheck[ConfiguredSubject, ConfiguredBatch]):
    """A check for renderers with a configuration; templates have none."""
