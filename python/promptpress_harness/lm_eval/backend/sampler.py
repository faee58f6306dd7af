"""The examples of one document after the other, as the harness's samplers draw them, many draws at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

from promptpress_harness.lm_eval.backend.coverage import SAMPLERS
from promptpress_harness.lm_eval.backend.documents import BLOCK
from promptpress_harness.lm_eval.fewshot_sampling import draw
from promptpress_harness.lm_eval.row_numbers import as_sequence


class BulkSampler:
    """Draws `count` examples for each document, in order, as one of the harness's two samplers does."""

    def __init__(self, sampler: Any, count: int, documents: int) -> None:
        self._sampler = sampler
        self._count = count
        self._remaining = documents
        self.is_first_n = type(sampler) is vars(sys.modules[SAMPLERS])["FirstNSampler"]
        is_covered = type(sampler.rnd) is Random and bool(sampler.df) and not sampler.fewshot_indices
        self._needs_sampler = not is_covered or count <= 0
        self._size = 0
        self._rows: list[int] = []
        self._used = 0
        self._state: Any = None

    def next(self, doc: dict[str, Any] | None) -> list[int] | None:
        """Return the examples of the next document, as numbers of the sampler's rows; None if `sample` has to draw.

        The document is passed only if it must not be its own example.
        """
        self._remaining -= 1
        pool, count = self._sampler.df, self._count
        size = count + 1 if doc else count
        if self._needs_sampler or size > len(pool):
            return None
        if self.is_first_n:
            if doc is None:
                return None
            rows = list(islice((number for number, row in enumerate(pool) if row != doc), count))
            return rows if len(rows) == count else None
        if size != self._size or self._used * size == len(self._rows):
            self._draw_block(size)
        start = self._used * size
        self._used += 1
        rows = self._rows[start : start + size]
        if doc:
            rows = [number for number in rows if pool[number] != doc][:count]
            if len(rows) < count:
                # More than one row that equals the document was drawn.
                self.close()
                rows = self._sampler.rnd.sample([number for number, row in enumerate(pool) if row != doc], count)
        return rows

    def sample(self, doc: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        """Return the rows that the harness's sampler draws; `doc` is as for `next`."""
        self.close()
        rows: Sequence[dict[str, Any]] = self._sampler.sample(n=self._count, eval_doc=doc)
        return rows

    def close(self) -> None:
        """Leave the sampler's generator in the state after drawing for each document by itself."""
        if self._state is not None and self._used * self._size < len(self._rows):
            self._sampler.rnd.setstate(self._state)
            if self._used:
                draw(self._sampler.rnd, len(self._sampler.df), self._size, None, self._used)
        self._rows, self._used, self._state = [], 0, None

    def _draw_block(self, size: int) -> None:
        self.close()
        self._size = size
        self._state = self._sampler.rnd.getstate()
        count = max(1, min(BLOCK, self._remaining + 1))
        self._rows = list(as_sequence(draw(self._sampler.rnd, len(self._sampler.df), size, None, count)))
