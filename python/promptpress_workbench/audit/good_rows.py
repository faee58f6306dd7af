"""The rows of an audit that can be rendered, which checks see, and the findings about the others."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

import pyarrow as pa

from promptpress_workbench.audit.findings import Finding, Rows, finding_of
from promptpress_workbench.prompts.failed_rows import FailedRows
from promptpress_workbench.statistics.collect import rendered_rows

UNRENDERABLE = "unrenderable_row"


class GoodRows:
    """Numbers the rows that can be rendered, as the checks count them, and keeps the errors of the others.

    The checks see a table without the other rows, and `number` returns the number that a row has in the data. If
    `has_gaps` is true, rows keep their numbers among all samples, and batches are cut at the other rows.
    """

    def __init__(self, row_number: Callable[[int], int]) -> None:
        self.has_gaps = False
        self.seen = 0
        """The number of samples so far, with those that can't be rendered."""
        self._row_number = row_number
        self._failed = FailedRows()
        self._before = array("q")
        """For each row that can't be rendered, the number of good rows before it."""

    @property
    def next(self) -> int:
        """The number of the next row that can be rendered."""
        return self.seen if self.has_gaps else self.seen - self._failed.rows

    def add(self, rows: int) -> None:
        """Count further rows, all of which can be rendered."""
        self.seen += rows

    def of_batch(
        self, batch: pa.RecordBatch, numbers: pa.Array, errors: pa.Array
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of the next batch that can be rendered, after the number of the first.

        `numbers` and `errors` are those of the batch's requests, counted over all samples.
        """
        failed = [numbers.filter(errors.is_valid())] if errors.null_count < len(errors) else []
        pieces = list(rendered_rows(batch, failed, self.seen, by_position=self.has_gaps))
        first = self.next
        bad = failed[0].unique().to_pylist() if failed else []
        self._before.extend([row - number for number, row in enumerate(bad, len(self._before))])
        self._failed.add(numbers, errors)
        self.seen += batch.num_rows
        for start, rows in pieces:
            yield (start if self.has_gaps else first), rows

    def number(self, row: int) -> int:
        """Return the number in the data of a row of the checks."""
        return self._row_number(row if self.has_gaps else row + bisect_right(self._before, row))

    def checked_row(self, row: int) -> int:
        """Return the number that checks know a row by, for its number among all samples."""
        return row - bisect_left(range(len(self._before)), row, key=lambda index: self._before[index] + index)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each kind of error."""
        for kind in self._failed.kinds(self._row_number):
            message = f"the row can't be rendered, and is left out of all other checks: {kind.error}"
            yield finding_of(UNRENDERABLE, message, Rows(kind.rows, kind.first_rows))
