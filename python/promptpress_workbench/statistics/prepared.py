"""Statistics of prepared data sets of token ids: lengths, trained tokens, and rows in which nothing is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import counted
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.prompts.failed_rows import FailedRows
from promptpress_workbench.prompts.prepared_source import prepared_batches
from promptpress_workbench.statistics.statistics import (
    PERCENTAGES,
    LengthSummary,
    errors_table,
    histogram_table,
    lengths_table,
    report,
)

_BINS = 20
_MAX_FIRST = 10
_BATCH_ROWS = 65_536
_UNITS = {"tokens": "tokens", "trained": "trained tokens"}


@dataclass(frozen=True)
class PreparedStatistics:
    """The lengths of rows in tokens without padding, and the rows in which nothing is trained."""

    rows: int
    tokens: LengthSummary
    trained: LengthSummary | None
    """None if no column says what is trained."""
    untrained: int
    """The number of rows in which nothing is trained."""
    first_untrained: list[int]
    errors: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        trained = None if self.trained is None else self.trained.to_dict()
        return {**vars(self), "tokens": self.tokens.to_dict(), "trained": trained}

    def report(self, width: int, *, is_ascii: bool) -> str:
        """Return a page of text."""
        data = self.to_dict()
        units = {name: data[name] for name in ("tokens", "trained") if data[name] is not None}
        head = counted(self.rows, "row")
        if self.trained is not None:
            first = f", first in row {self.first_untrained[0]:,}" if self.untrained else ""
            head += f"; in {self.untrained:,} nothing is trained{first}"
        tables = [errors_table(self.errors), lengths_table("tokens of a row", units)]
        tables += [histogram_table(f"rows by {_UNITS[unit]}", lengths["histogram"]) for unit, lengths in units.items()]
        return report(head, [table for table in tables if table.rows], width, is_ascii=is_ascii)


def prepared_statistics(batches: Iterable[pa.RecordBatch], ids_column: str) -> PreparedStatistics:
    """Measure the rows of a prepared data set, batch by batch."""
    tokens, trained = Counter[int](), Counter[int]()
    errors, first_untrained = FailedRows(), list[int]()
    rows, untrained, has_masks = 0, 0, False
    for batch in (part for whole in batches for part in _sliced(whole)):
        for start, prepared in prepared_batches(batch, ids_column):
            if not prepared.is_sound:
                errors.add(pa.array([rows + start], pa.int64()), prepared.errors)
                continue
            counts, trained_counts = prepared.counts()
            _count(tokens, counts)
            if trained_counts is not None:
                has_masks = True
                _count(trained, trained_counts)
                none = pc.indices_nonzero(pc.equal(trained_counts, 0))
                untrained += len(none)
                first_untrained += [rows + start + row for row in none[: _MAX_FIRST - len(first_untrained)].to_pylist()]
        rows += batch.num_rows
    kinds = [{"error": kind.error, "rows": kind.rows, "first_rows": list(kind.first_rows)} for kind in errors.kinds()]
    return PreparedStatistics(
        rows, _summary(tokens), _summary(trained) if has_masks else None, untrained, first_untrained, kinds
    )


def _sliced(batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
    return (batch.slice(start, _BATCH_ROWS) for start in range(0, batch.num_rows, _BATCH_ROWS))


def _count(lengths: Counter[int], values: pa.Array) -> None:
    counts = pc.value_counts(values)
    lengths.update(dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)))


def _summary(lengths: Mapping[int, int]) -> LengthSummary:
    """Summarise lengths, given how many rows have each."""
    ordered = sorted(lengths.items())
    rows, total = sum(lengths.values()), sum(length * count for length, count in ordered)
    low, high = (ordered[0][0], ordered[-1][0]) if ordered else (0, 0)
    width = -(-(high - low + 1) // _BINS)
    bins = Counter[int]()
    for length, count in ordered:
        bins[(length - low) // width] += count
    histogram = pa.table(
        {
            "start": pa.array([low + width * number for number in sorted(bins)], pa.int64()),
            "end": pa.array([low + width * (number + 1) for number in sorted(bins)], pa.int64()),
            "requests": pa.array([bins[number] for number in sorted(bins)], pa.int64()),
        }
    )
    ends = list(accumulate(count for _, count in ordered))
    percentiles = {
        percent: next(length for (length, _), end in zip(ordered, ends, strict=True) if end * 100 >= percent * rows)
        for percent in (PERCENTAGES if rows else ())
    }
    if not rows:
        return LengthSummary(0, None, None, None, {}, histogram)
    return LengthSummary(total, total / rows, low, high, percentiles, histogram)
