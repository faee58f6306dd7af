"""Tokens that hold the end of the template's text and the beginning of data, or the other way round."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from promptpress._audit.batch import Batch
from promptpress._audit.checks.check import Check
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["TokenBorders"]


class TokenBorders(Check):
    """Tokens across the borders of data."""

    codes = ("straddling_token",)

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        tokens = subject.tokens
        assert tokens is not None  # as in `applies_to`
        self._tokens = tokens
        self._rows = Rows()
        self._token = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true if there is a tokenizer, and requests are texts."""
        return subject.tokens is not None

    def add(self, batch: Batch) -> None:
        """Look at the tokens at the borders of data."""
        requests, _ = self._tokens.of(batch.samples, batch.first)
        tokens: dict[int, tuple[int, int]] = {}
        for request in requests:
            if request.sample in tokens:
                continue
            count = len(request.ends)
            # Special tokens after a text have no place in it.
            while count and request.ends[count - 1] == 0:
                count -= 1
            for border in request.borders:
                number = bisect_right(request.ends, border, 0, count)
                if number < count and request.starts[number] < border:
                    tokens[request.sample] = (request.starts[number], request.ends[number])
                    if not self._rows and len(tokens) == 1:
                        self._token = request.text[slice(*tokens[request.sample])].decode(errors="replace")
                    break
        self._rows.add(tokens, *next(iter(tokens.values()), (None, None)))

    def findings(self) -> Iterator[Finding]:
        if self._rows:
            message = f"a token holds text of the template and of data; in the first row {self._token!r}"
            yield finding_of("straddling_token", message, self._rows)
