"""Tokens that a mask trains, and tokens that hold text of the template and of data."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from promptpress_workbench.audit.batch import Batch
from promptpress_workbench.audit.checks.check import Check
from promptpress_workbench.audit.finding import Finding, Rows, finding_of
from promptpress_workbench.audit.subject import Subject
from promptpress_workbench.audit.token_batches import RequestTokens

_MAX_BETWEEN = 8
"""The most tokens between what is trained and the token that would end it."""


class TrainedTokens(Check):
    """Masks that train nothing, that don't train the token that ends a turn, or that aren't known."""

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
        return subject.mask is not None

    def add(self, batch: Batch) -> None:
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


class TokenBorders(Check):
    """Tokens that hold the end of the template's text and the beginning of data, or the other way round."""

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
