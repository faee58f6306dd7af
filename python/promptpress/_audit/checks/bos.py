"""The token of a text's begin, twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.special import bos_tokens
from promptpress._audit.subject import Subject

__all__ = ["DoubleBos"]


class DoubleBos:
    """Texts that begin with such a token twice, or once where the tokenizer adds it."""

    def __init__(self, subject: Subject) -> None:
        self._added = None if subject.counter is None else _added_first(subject.counter._tokenizer)
        tokens = bos_tokens(subject)
        self._tokens = tokens if self._added is None or self._added in tokens else [*tokens, self._added]
        self._firsts = bytes({token.encode()[0] for token in self._tokens if token})
        self._twice = {token: Rows() for token in self._tokens}
        self._beside = Rows()

    @classmethod
    def of(cls, subject: Subject) -> DoubleBos:
        """Any text may have one; messages become a text elsewhere."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look at how texts begin."""
        for requests in batch.requests:
            texts = requests.texts[0] if len(requests.texts) == 1 else None
            if texts is None or texts.parents is not None:
                continue
            # Few texts begin with what a token begins with, and looking at a byte of each is all but free.
            near = _core.begin_with(texts.array, self._firsts)
            if len(near) == len(texts.array):
                self._look(texts.array, requests.samples)
            elif len(near):
                self._look(texts.array.take(near), requests.samples.take(near))

    def _look(self, texts: pa.Array, samples: pa.Array) -> None:
        for token in self._tokens:
            twice = pc.fill_null(pc.starts_with(texts, token * 2), False)
            self._twice[token].add(pc.unique(samples.filter(twice)), 0, 2 * len(token.encode()))
        if self._added is not None:
            once = pc.and_not(pc.starts_with(texts, self._added), pc.starts_with(texts, self._added * 2))
            self._beside.add(pc.unique(samples.filter(pc.fill_null(once, False))), 0, len(self._added.encode()))

    def findings(self) -> Iterator[Finding]:
        """Name the tokens."""
        for token, rows in self._twice.items():
            if rows:
                yield finding_of("double_bos", f"the prompt begins with {token!r} twice", rows)
        if self._beside:
            message = f"the prompt begins with {self._added!r}, which the tokenizer puts before each text too"
            yield finding_of("bos_beside_tokenizer", message, self._beside)


def _added_first(tokenizer: Any) -> str | None:
    """The token that a tokenizer puts before each text, if it does."""
    own = tokenizer.encode("a", add_special_tokens=True)
    plain = tokenizer.encode("a", add_special_tokens=False)
    if not own.ids or not plain.ids or own.ids[0] == plain.ids[0]:
        return None
    token: str | None = tokenizer.id_to_token(own.ids[0])
    return token
