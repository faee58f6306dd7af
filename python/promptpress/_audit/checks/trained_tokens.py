"""Tokens that a mask trains: none at all, not the one that ends a turn, or a mask that isn't known."""

from __future__ import annotations

from collections.abc import Iterator

from promptpress._audit.batch import Batch
from promptpress._audit.checks.check import Check
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject
from promptpress._audit.token_batches import RequestTokens

__all__ = ["TrainedTokens"]

_MAX_BETWEEN = 8
"""The most tokens between what is trained and the token that would end it."""


class TrainedTokens(Check):
    """Masks of what is trained."""

    codes = ("unknown_mask", "empty_mask", "untrained_stop")

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        tokens = subject.tokens
        assert tokens is not None  # validated together with the mask
        self._tokens = tokens
        self._added = frozenset(tokens.encoder.tokenizer.get_added_tokens_decoder())
        self._empty, self._unended, self._unknown = Rows(), Rows(), Rows()
        self._end: str | None = None
        self._error = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true if there is a mask."""
        return subject.mask is not None

    def add(self, batch: Batch) -> None:
        """Look at the masks."""
        requests, errors = self._tokens.of(batch.samples, batch.first)
        empty: dict[int, None] = {}
        unended: dict[int, tuple[int, int]] = {}
        for request in requests:
            mask = request.mask or b""
            if 1 not in mask:
                empty[request.sample] = None
                continue
            last = next((last for last in _last_trained(mask) if not self._is_ended(request, last)), None)
            if last is not None and request.sample not in unended:
                unended[request.sample] = (request.starts[last], request.ends[last])
                if not self._unended and len(unended) == 1:
                    self._end = self._token_after(request, last)
        self._empty.add(empty)
        self._unended.add(unended, *next(iter(unended.values()), (None, None)))
        if errors and not self._unknown:
            self._error = next(iter(errors.values()))
        self._unknown.add(errors)

    def _is_ended(self, request: RequestTokens, last: int) -> bool:
        """Return true if a stretch of trained tokens ends with an added token, or blanks after one."""
        mask = request.mask or b""
        while last >= 0 and mask[last]:
            if request.ids[last] in self._added:
                return True
            if not request.text[request.starts[last] : request.ends[last]].isspace():
                return False
            last -= 1
        return False

    def _token_after(self, request: RequestTokens, last: int) -> str | None:
        """Return the first added token after a stretch of trained tokens; None if none is near."""
        for number in request.ids[last + 1 : last + 1 + _MAX_BETWEEN]:
            if number in self._added:
                token: str | None = self._tokens.encoder.tokenizer.id_to_token(number)
                return token
        return None

    def findings(self) -> Iterator[Finding]:
        if self._unknown:
            yield finding_of("unknown_mask", f"which tokens are trained isn't known: {self._error}", self._unknown)
        if self._empty:
            yield finding_of("empty_mask", "no token of the prompt is trained", self._empty)
        if self._unended:
            end = "no token that ends the turn is near" if self._end is None else f"{self._end!r} follows, untrained"
            message = f"what is trained doesn't end with a token that ends the turn; in the first row {end}"
            yield finding_of("untrained_stop", message, self._unended)


def _last_trained(mask: bytes) -> Iterator[int]:
    r"""Yield the last token of each stretch of trained tokens.

    >>> list(_last_trained(b"\0\1\1\0\1"))
    [2, 4]

    """
    end = mask.find(b"\1\0")
    while end >= 0:
        yield end
        end = mask.find(b"\1\0", end + 1)
    if mask.endswith(b"\1"):
        yield len(mask) - 1
