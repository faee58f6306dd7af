"""Batches of samples cut by the bytes of what is rendered of them, so that memory has a bound whatever the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from promptpress._arrow.columns import bytes_of, text_bytes
from promptpress._arrow.json_columns import holds

OUTPUT_BYTES = 16 << 20
"""About so much is rendered at a time, at most half as much again: allocators use blocks below 32 MB again and again,
and get larger ones from the system each time, page by page."""

FIRST_ROWS = 1 << 12
"""Rows that are rendered first, by whose requests the number of the next ones is chosen, ..."""

_MOST_ROWS = 1 << 16
"""... and the most at a time."""

_SPREAD = 2
"""Rows may become so many times the bytes, by what they are read from, before fewer of them are taken."""


class BatchCuts:
    """Cuts batches into slices whose requests take about so many bytes, as those of the slice before did.

    Rows that are larger than those before are seen by the bytes that they are read from. The slices depend on the rows
    alone, and a run that goes on with the `state` of another cuts as that one would have.

    Args:
        target: The bytes; None leaves batches as they are.

    >>> cuts, rest = BatchCuts(1000), [pa.record_batch({"x": ["a" * 10] * 6000})]
    >>> cuts.next(rest).num_rows, rest[0].num_rows
    (142, 5858)
    >>> cuts.learn(10_000)
    >>> cuts.next(rest).num_rows
    15
    """

    def __init__(self, target: int | None = OUTPUT_BYTES) -> None:
        self._target = target
        self.rows = FIRST_ROWS
        self._growth = 1.0
        self._cut = self._read = 0

    def next(self, rest: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Take the next slice from the only batch of a list, and leave the rest of the batch there."""
        batch = rest.pop()
        if self._target is not None:
            rows = self._fitting(batch)
            if rows < batch.num_rows:
                rest.append(batch.slice(rows))
                batch = batch.slice(0, rows)
        return batch

    def _fitting(self, batch: pa.RecordBatch) -> int:
        """Return how many rows of a batch are rendered next."""
        assert self._target is not None
        shared = bytes_of(batch.slice(0, 0))  # such as a dictionary

        def read(rows: int) -> int:
            return bytes_of(batch.slice(0, rows)) - shared

        slices = max(1, (batch.num_rows + self.rows // 2) // self.rows)
        rows: int = -(-batch.num_rows // slices)
        most = _SPREAD * self._target / self._growth
        if (size := read(rows)) > most:
            fewest = 1
            while fewest < rows:
                middle = (fewest + rows + 1) // 2
                fewest, rows = (middle, rows) if read(middle) <= most else (fewest, middle - 1)
            size = read(rows)
        self._cut, self._read = rows, size
        return rows

    @staticmethod
    def size_of(data: pa.RecordBatch | pa.Array) -> int:
        """Return the bytes that rendered columns take, the same for any number of threads."""
        columns = data.columns if isinstance(data, pa.RecordBatch) else [data]
        return sum(
            text_bytes(column) if holds(column.type, pa.types.is_string_view) else bytes_of(column)
            for column in columns
        )

    def learn(self, size: int, rows: int | None = None) -> None:
        """Take into account how many bytes the last slice came to, or so many of its rows."""
        if self._target is None:
            return
        cut = self._cut if rows is None else rows
        fitting = self._target * cut // max(size, 1)
        self.rows = max(1, min(_MOST_ROWS, fitting))
        if self._read and size and cut == self._cut:
            self._growth = size / self._read

    @property
    def state(self) -> dict[str, Any]:
        """The numbers that a later run needs in order to cut as this one does, as JSON has them."""
        return {"rows": self.rows, "growth": self._growth}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with the state of another run."""
        self.rows, self._growth = int(state["rows"]), float(state["growth"])
