"""Counts of rows that couldn't be rendered, for runs that leave them out or put their errors into a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

_MAX_FIRST = 3


class RowError(NamedTuple):
    """The number of a row, and why it couldn't be rendered."""

    row: int
    message: str


@dataclass
class RowErrors:
    """The rows of a run that couldn't be rendered."""

    rows: int = 0
    first: list[RowError] = field(default_factory=list)

    def add(self, rows: Iterable[int], messages: Iterable[str]) -> None:
        """Add the errors of some requests, by the rows that they are of; a row's requests follow each other."""
        last = None
        for row, message in zip(rows, messages, strict=True):
            if row != last:
                self.rows += 1
                if len(self.first) < _MAX_FIRST:
                    self.first.append(RowError(row, message))
            last = row

    def renumbered(self, row_number: Callable[[int], int]) -> RowErrors:
        """Return the same errors with other row numbers."""
        return RowErrors(self.rows, [RowError(row_number(error.row), error.message) for error in self.first])
