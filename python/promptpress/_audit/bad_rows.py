"""Rows that can't be rendered, which an audit may leave out of its checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._engine.options import RenderOptions
from promptpress._engine.sample_numbers import sample_numbers
from promptpress._engine.table_engine import TableEngine

__all__ = ["BadRows", "LeftOut"]


class BadRows:
    """Finds the rows that can't be rendered, batch by batch.

    Args:
        engine: The audited engine.
        labels: The labels of ppl; None for gen.

    """

    def __init__(self, engine: TableEngine, labels: list[Any] | None) -> None:
        self._run = engine.begin(RenderOptions(errors="column"), labels)

    def of(self, batch: pa.RecordBatch, first: int) -> Iterator[tuple[int, str]]:
        """Yield the rows of a batch that can't be rendered, by their numbers in it, with their errors.

        Args:
            batch: The next batch.
            first: The number of its first row.

        """
        last = None
        for part in self._run.parts(pa.Table.from_batches([batch]), first):
            if part.errors is None or part.errors.null_count == len(part.errors):
                continue
            rows = sample_numbers(part, self._run.times).filter(part.errors.is_valid()).to_pylist()
            for row, message in zip(rows, part.errors.drop_null().to_pylist(), strict=True):
                if row != last:
                    yield row - first, message
                last = row


class LeftOut:
    """The rows that were left out of an audit."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._message = ""

    def add(self, row: int, message: str) -> None:
        """Add the next row, with its error."""
        if not self._rows:
            self._message = message.partition(": ")[2]
        self._rows.add([row])

    def findings(self) -> Iterator[Finding]:
        """Yield the finding about these rows, if there are any."""
        if self._rows:
            message = f"the row can't be rendered, and is left out of all other checks: {self._message}"
            yield finding_of("unrenderable_row", message, self._rows)
