"""Matches of given texts in the values of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pyarrow as pa

import promptpress._core as _core
from promptpress._audit.batch import Columns
from promptpress._audit.finding import Rows
from promptpress._audit.row_numbers import concatenated
from promptpress._utils import lazy_compute as pc

__all__ = ["TextMatches"]


class TextMatches:
    """The rows of one column that contain one of some needles, and the number of matches of each needle.

    Args:
        needles: The texts to look for.
        finder: A finder of the needles, which several columns may share.

    """

    def __init__(self, needles: Sequence[str], finder: _core.TextFinder | None = None) -> None:
        self._needles = needles
        self._finder = _core.TextFinder(list(needles)) if finder is None else finder
        self._counts: Counter[str] = Counter()
        self.rows = Rows()

    def search(self, columns: Columns, name: str) -> pa.Array:
        """Search the values that requests show, and return the numbers of the matching rows in the batch."""
        rows: list[pa.Array] = []
        location: tuple[int | None, int | None] = (None, None)
        for texts, matches in columns.matches(name, self._finder.find) if self._needles else ():
            for value in pc.value_counts(matches.column(1)).to_pylist():
                self._counts[self._needles[value["values"]]] += value["counts"]
            if columns.is_flat(name):
                location = (matches.column(2)[0].as_py(), matches.column(3)[0].as_py())
            rows.append(texts.rows(matches.column(0)))
        out = concatenated(rows)
        if not len(out):
            return out
        self.rows.add(columns.row_numbers(out), *location)
        return pc.unique(out)

    def describe(self, limit: int = 5, note: Callable[[str], str] | None = None) -> str:
        """Name the needles that were found, the most frequent first, each followed by a note."""
        # Equally frequent needles are sorted, so that the order doesn't depend on the batches.
        counts = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:limit]
        names = [repr(needle) + (note(needle) if note else "") for needle, _ in counts]
        more = len(self._counts) - len(names)
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")
