"""Prompts beyond a limit, in bytes or in tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch, Requests
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["Lengths"]


class Lengths:
    """Prompts beyond a limit."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._bytes, self._tokens = (subject.limits.get(name) for name in ("bytes", "tokens"))
        self._long = {"prompt_too_long": Rows(), "prompt_too_many_tokens": Rows()}
        self._most = {"prompt_too_long": 0, "prompt_too_many_tokens": 0}

    @classmethod
    def of(cls, subject: Subject) -> Lengths | None:
        """Where there is a limit."""
        return cls(subject) if subject.limits else None

    def add(self, batch: Batch) -> None:
        """Measure the requests."""
        for requests in batch.requests:
            if self._bytes is not None:
                sizes, _ = _core.request_sizes(requests.prompts, self._subject.is_json)
                self._compare("prompt_too_long", requests, sizes, self._bytes)
            if self._tokens is not None:
                self._compare("prompt_too_many_tokens", requests, self._counts(requests), self._tokens)

    def _compare(self, code: str, requests: Requests, sizes: pa.Array, limit: int) -> None:
        sizes = pc.fill_null(sizes.cast(pa.int64()), 0)
        over = pc.indices_nonzero(pc.greater(sizes, limit))
        if len(over):
            self._long[code].add(pc.unique(requests.samples.take(over)))
            self._most[code] = max(self._most[code], pc.max(sizes).as_py())

    def _counts(self, requests: Requests) -> pa.Array:
        counter = self._subject.counter
        assert counter is not None  # checked where limits are
        totals = [0] * len(requests.prompts)
        for texts in requests.texts:
            counts = counter.count(["" if text is None else text for text in texts.array.to_pylist()])
            if texts.parents is None:
                return pa.array(counts, pa.int64())
            for parent, count in zip(texts.parents.to_pylist(), counts, strict=True):
                totals[parent] += count
        return pa.array(totals, pa.int64())

    def findings(self) -> Iterator[Finding]:
        """Say how many there are, and how long the longest is."""
        for code, limit, unit in (
            ("prompt_too_long", self._bytes, "bytes"),
            ("prompt_too_many_tokens", self._tokens, "tokens"),
        ):
            if self._long[code]:
                message = f"the prompt has more than {limit:,} {unit}; the longest has {self._most[code]:,}"
                yield finding_of(code, message, self._long[code])
