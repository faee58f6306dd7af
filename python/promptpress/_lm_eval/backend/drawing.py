"""The examples of one document after the other, as the harness's samplers draw them, many draws at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

from promptpress._lm_eval.backend.covered import SAMPLERS
from promptpress._lm_eval.backend.documents import BLOCK
from promptpress._lm_eval.draws import draw
from promptpress._lm_eval.row_numbers import as_sequence


class Draws:
    """What a sampler gives, document after document.

    Args:
        sampler: The harness's, one of its own two.
        count: How many examples for each document.
        documents: How many documents.
    """

    def __init__(self, sampler: Any, count: int, documents: int) -> None:
        self._sampler = sampler
        self._count = count
        self._left = documents
        self.is_fixed = type(sampler) is vars(sys.modules[SAMPLERS])["FirstNSampler"]
        is_known = type(sampler.rnd) is Random and bool(sampler.df) and not sampler.fewshot_indices
        self._asks = not is_known or count <= 0
        self._size = 0
        self._rows: list[int] = []
        self._used = 0
        self._state: Any = None

    def next(self, doc: dict[str, Any] | None) -> list[int] | None:
        """The examples of the next document.

        Args:
            doc: The document, where it must not be its own example.

        Returns:
            Numbers of the sampler's rows; None where it has to be `asked`.
        """
        self._left -= 1
        pool, count = self._sampler.df, self._count
        size = count + 1 if doc else count
        if self._asks or size > len(pool):
            return None
        if self.is_fixed:
            if doc is None:
                return None
            rows = list(islice((at for at, row in enumerate(pool) if row != doc), count))
            return rows if len(rows) == count else None
        at = self._used * size
        if size != self._size or at == len(self._rows):
            self._begin(size)
            at = 0
        self._used += 1
        rows = self._rows[at : at + size]
        if doc:
            rows = [row for row in rows if pool[row] != doc][:count]
            if len(rows) < count:
                # More than one row is equal to the document, and was drawn.
                self.close()
                rows = self._sampler.rnd.sample([at for at, row in enumerate(pool) if row != doc], count)
        return rows

    def close(self) -> None:
        """Leave the sampler's generator where it would be had it drawn for each document by itself."""
        if self._state is not None and self._used * self._size < len(self._rows):
            self._sampler.rnd.setstate(self._state)
            if self._used:
                draw(self._sampler.rnd, len(self._sampler.df), self._size, None, self._used)
        self._rows, self._used, self._state = [], 0, None

    def _begin(self, size: int) -> None:
        self.close()
        self._size = size
        self._state = self._sampler.rnd.getstate()
        count = max(1, min(BLOCK, self._left + 1))
        self._rows = list(as_sequence(draw(self._sampler.rnd, len(self._sampler.df), size, None, count)))

    def asked(self, doc: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        """What the sampler itself gives: rows.

        Args:
            doc: The document, as `next` was given it.
        """
        self.close()
        rows: Sequence[dict[str, Any]] = self._sampler.sample(n=self._count, eval_doc=doc)
        return rows
