"""The rows of the data that are read: those for which a condition holds, or some at random."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import batch_rows
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.files.read.row_filter import RowFilter

Batches = Callable[[], Iterable[pa.RecordBatch]]


@dataclass(frozen=True)
class RowChoice:
    """A choice of rows: by `where`, a condition of SQL, and of these as many at random as `sample` says."""

    where: str | None = None
    sample: int | None = None
    seed: int = 0

    @property
    def skips(self) -> bool:
        """True if rows may be left out between the chosen ones."""
        return self.where is not None or self.sample is not None


ALL_ROWS = RowChoice()


class ChosenRows:
    """The chosen rows of a table that is read batch by batch.

    The numbers of the rows in the whole table are kept: a bit for each row that was read, or the numbers of a sample.
    """

    def __init__(
        self, choice: RowChoice, limit: int | None, schema: pa.Schema, read: Batches, num_rows: int | None
    ) -> None:
        self._choice = choice
        self._limit = limit
        self._read = read
        self._filter = None if choice.where is None else RowFilter(choice.where, schema, read)
        self._table_rows = num_rows
        self._count: int | None = None
        self._drawn: list[int] | None = None
        self._masks: list[tuple[int, int, pa.Array]] = []
        """The first chosen row, the first row of the table, and the mask of each batch with chosen rows."""

    @property
    def num_rows(self) -> int | None:
        """The number of chosen rows, if it is known before the rows are read."""
        if self._filter is not None or self._table_rows is None:
            return None
        return min(n for n in (self._table_rows, self._limit, self._choice.sample) if n is not None)

    def count(self) -> int:
        """Return the number of chosen rows; unless it is known, the table is read once."""
        if self._count is None:
            self._count = sum(batch.num_rows for batch in self.batches()) if self.num_rows is None else self.num_rows
        return self._count

    def batches(self, read: Batches | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the chosen rows; `read` replaces the table by one whose columns have other encodings."""
        read = self._read if read is None else read
        if self._choice.sample is None:
            yield from self._before_sampling(read)
            return
        if self._drawn is None:
            self._drawn = self._draw(self._choice.sample)
        drawn, first, done = self._drawn, 0, 0
        for batch in read() if drawn else ():
            end = bisect_left(drawn, first + batch.num_rows, done)
            if end > done:
                yield batch_rows(batch, pa.array([row - first for row in drawn[done:end]], pa.int64()))
            done, first = end, first + batch.num_rows
            if done == len(drawn):
                return

    def number(self, row: int) -> int:
        """Return the number in the whole table of a chosen row that was read."""
        return self._filtered_number(row) if self._drawn is None else self._drawn[row]

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Return the numbers in the whole table of chosen rows that were read; null stays null."""
        if len(rows) and self._drawn is None and self._filter is not None and not rows.null_count:
            low, high = pc.min(rows).as_py(), pc.max(rows).as_py()
            index = self._mask_index(low)
            begin, first, mask = self._masks[index]
            if self._mask_index(high) == index:  # the rows of one batch, which is the usual case
                chosen = pc.indices_nonzero(mask).take(pc.subtract(rows, begin))
                return pc.add(chosen.cast(pa.int64()), first)
        return pa.array([None if row is None else self.number(row) for row in rows.to_pylist()], pa.int64())

    def position(self, number: int) -> int | None:
        """Return the position among the chosen rows of a row of the whole table; None if it isn't chosen."""
        rows = range(self.count())
        if self._choice.sample is not None and self._drawn is None:
            self._drawn = self._draw(self._choice.sample)
        row = bisect_left(rows, number, key=self.number)
        return row if row < len(rows) and self.number(row) == number else None

    def _draw(self, count: int) -> list[int]:
        """Return the numbers of the drawn rows in the whole table."""
        rows = self._table_rows
        if self._filter is not None or rows is None:
            rows = sum(batch.num_rows for batch in self._before_sampling(self._read))
        elif self._limit is not None:
            rows = min(rows, self._limit)
        drawn = sampled_rows(rows, count, self._choice.seed)
        return drawn if self._filter is None else [self._filtered_number(row) for row in drawn]

    def _before_sampling(self, read: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the rows that `where` and `limit` keep."""
        left, first, begin = self._limit, 0, 0
        self._masks = []
        for batch in read() if left != 0 else ():
            kept = batch
            if self._filter is not None:
                rows = self._filter.rows(batch)[:left]
                kept = batch_rows(batch, rows)
                if len(rows):
                    every_row = _core.repeated_rows(0, batch.num_rows, 1)
                    self._masks.append((begin, first, pc.is_in(every_row, value_set=rows)))
            elif left is not None:
                kept = batch.slice(0, left)
            if kept.num_rows:
                yield kept
            first, begin = first + batch.num_rows, begin + kept.num_rows
            if left is not None:
                left -= kept.num_rows
                if left == 0:
                    return

    def _mask_index(self, row: int) -> int:
        return max(bisect_right(self._masks, row, key=lambda mask: mask[0]) - 1, 0)

    def _filtered_number(self, row: int) -> int:
        if self._filter is None:
            return row
        begin, first, mask = self._masks[self._mask_index(row)]
        return first + int(pc.indices_nonzero(mask)[row - begin].as_py())


def sampled_rows(rows: int, count: int, seed: int) -> list[int]:
    """Draw some of so many rows at random, none twice, and return their numbers in order."""
    return sorted(random.Random(seed).sample(range(rows), min(rows, count)))
