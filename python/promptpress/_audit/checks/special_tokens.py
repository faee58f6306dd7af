"""Tokens that steer the model, in values."""

from __future__ import annotations

from collections.abc import Iterator

from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.control_tokens import families_of
from promptpress._audit.example_rows import ExampleRows, finding_of_examples
from promptpress._audit.finding import Finding, finding_of
from promptpress._audit.places import Places
from promptpress._audit.special import LIKELY_TOKENS, special_tokens
from promptpress._audit.subject import Subject

__all__ = ["SpecialTokens"]


_SAID = (
    ("special_token", "which steers the model", None),
    ("likely_special_token", "a control token of well-known models", lambda token: f" ({families_of(token)})"),
)


class SpecialTokens:
    """Values that have such a token in them."""

    def __init__(self, subject: Subject) -> None:
        self._examples = ExampleRows.of(subject)
        self._known = known = special_tokens(subject)
        self._likely = likely = [token for token in LIKELY_TOKENS if token not in known]
        self._finders = (_core.TextFinder(known), _core.TextFinder(likely))
        self._places: dict[str, tuple[Places, Places]] = {}
        self._names = subject.schema.names

    @classmethod
    def of(cls, subject: Subject) -> SpecialTokens:
        """Any column may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look for them."""
        for name in batch.names:
            if name not in self._places:
                known, likely = self._finders
                self._places[name] = (Places(self._known, known), Places(self._likely, likely))
            for places in self._places[name]:
                places.look(batch, name)

    def findings(self) -> Iterator[Finding]:
        """Name the columns, and the tokens."""
        for name, own in sorted(self._places.items(), key=lambda one: self._names.index(one[0])):
            for places, (code, what, note) in zip(own, _SAID, strict=True):
                if places.rows:
                    message = f"a value of column {name!r} has {places.named(note=note)} in it, {what}"
                    yield finding_of(code, message, places.rows, name)
        for examples, name in ExampleRows.names_of(self._examples):
            for tokens, (code, what, note) in zip((self._known, self._likely), _SAID, strict=True):
                places = Places(tokens)
                places.look(examples, name)
                if places.rows:
                    yield finding_of_examples(
                        code, f"the value has {places.named(note=note)} in it, {what}", places.rows, name
                    )
