"""Tokens that steer the model, in values."""

from __future__ import annotations

from collections.abc import Iterator

from promptpress._audit.batch import Batch
from promptpress._audit.finding import Finding, finding_of
from promptpress._audit.places import Places
from promptpress._audit.special import LIKELY_TOKENS, special_tokens
from promptpress._audit.subject import Subject

__all__ = ["SpecialTokens"]


class SpecialTokens:
    """Values that have such a token in them."""

    def __init__(self, subject: Subject) -> None:
        known = special_tokens(subject)
        likely = [token for token in LIKELY_TOKENS if token not in known]
        self._places = {name: (Places(known), Places(likely)) for name in subject.shown_columns}

    @classmethod
    def of(cls, subject: Subject) -> SpecialTokens:
        """Any column may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look for them."""
        for name, (known, likely) in self._places.items():
            known.look(batch, name)
            likely.look(batch, name)

    def findings(self) -> Iterator[Finding]:
        """Name the columns, and the tokens."""
        for name, (known, likely) in self._places.items():
            if known.rows:
                message = f"a value of column {name!r} has {known.named()} in it, which steers the model"
                yield finding_of("special_token", message, known.rows, name)
            if likely.rows:
                message = f"a value of column {name!r} has {likely.named()} in it, a control token of well-known models"
                yield finding_of("likely_special_token", message, likely.rows, name)
