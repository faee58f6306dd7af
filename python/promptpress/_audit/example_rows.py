"""The rows that examples are made of, for the checks of samples' values."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pyarrow as pa

from promptpress._audit.batch import Columns
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.row_numbers import take_table
from promptpress._audit.subject import Subject
from promptpress._utils import lazy_compute as pc

__all__ = ["ExampleRows", "example_columns", "finding_of_examples"]

_MAX_LISTED = 5


class ExampleRows(Columns):
    """The rows of the table of examples that can be chosen: those of a fixed choice, or all.

    Args:
        rows: The rows, with the columns that requests show.
        numbers: The number of each row in the table of examples, ascending.
        masks: For each column, a mask of the rows whose value requests show.

    """

    def __init__(self, rows: pa.RecordBatch, numbers: pa.Array, masks: dict[str, pa.Array]) -> None:
        super().__init__(rows)
        self._numbers = numbers
        self._masks = masks

    @property
    def names(self) -> list[str]:
        return list(self._masks)

    def visible_rows(self, name: str, rows: pa.Array) -> pa.Array:
        return rows.filter(self._masks[name].take(rows))

    def row_numbers(self, rows: pa.Array) -> pa.Array:
        return self._numbers.take(super().row_numbers(rows))


def example_columns(subject: Subject) -> Iterator[tuple[ExampleRows, str]]:
    """Yield the rows of examples with each column that requests show; nothing if there are no examples."""
    masks, examples = subject.example_columns, subject.examples
    if examples is None or not masks:
        return
    numbers = pc.indices_nonzero(functools.reduce(pc.or_, masks.values())).cast(pa.int64())
    table = examples.select(list(masks))
    table = table if len(numbers) == len(table) else take_table(table, numbers)
    batches = table.combine_chunks().to_batches()
    if len(batches) == 1:
        rows = ExampleRows(batches[0], numbers, {name: mask.take(numbers) for name, mask in masks.items()})
        for name in masks:
            yield rows, name


def finding_of_examples(code: str, message: str, rows: Rows, name: str) -> Finding:
    """Make a finding about a column of the examples, whose message lists the rows: they aren't the samples'."""
    numbers = ", ".join(map(str, rows.first[:_MAX_LISTED])) + (", …" if rows.count > _MAX_LISTED else "")
    location = f"column {name!r} of the examples, row{'s' if rows.count != 1 else ''} {numbers}"
    return finding_of(code, f"{location}: {message}")
