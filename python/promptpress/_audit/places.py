"""Where some texts stand in values of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Columns
from promptpress._audit.finding import Rows

__all__ = ["Places"]


class Places:
    """The rows of one column in which one of some texts stands, and how often each was found.

    Args:
        needles: What to look for.
        finder: Looks for the needles; several columns may share one.

    """

    def __init__(self, needles: Sequence[str], finder: _core.TextFinder | None = None) -> None:
        self._needles = needles
        self._finder = _core.TextFinder(list(needles)) if finder is None else finder
        self.rows = Rows()
        self.found: Counter[str] = Counter()

    def look(self, batch: Columns, name: str) -> pa.Array:
        """Look into more rows, as far as requests show their values.

        Args:
            batch: The rows.
            name: The column.

        Returns:
            The numbers of the rows in the batch in which one stands.

        """
        out = pa.array([], pa.int64())
        place: tuple[int | None, int | None] = (None, None)
        for texts in batch.texts(name) if self._needles else ():
            hits = self._finder.find(texts.array)
            if not len(hits):
                continue
            places = pc.unique(hits.column(0))
            said = batch.said(name, texts, places)
            if len(said) < len(places):
                hits = hits.filter(pc.is_in(hits.column(0), value_set=said))
            if not len(hits):
                continue
            for value in pc.value_counts(hits.column(1)).to_pylist():
                self.found[self._needles[value["values"]]] += value["counts"]
            rows = texts.rows(hits.column(0))
            if batch.is_flat(name):
                place = (hits.column(2)[0].as_py(), hits.column(3)[0].as_py())
            out = pa.concat_arrays([out, rows.cast(pa.int64())])
        self.rows.add(batch.numbers(out), *place)
        return pc.unique(out)

    def named(self, most: int = 5, note: Callable[[str], str] | None = None) -> str:
        """Name what was found, the most frequent first, each with a note behind it."""
        # Of equally frequent ones the order must not depend on the batches that they came in.
        found = sorted(self.found.items(), key=lambda one: (-one[1], one[0]))[:most]
        names = [repr(needle) + (note(needle) if note else "") for needle, _ in found]
        more = len(self.found) - len(names)
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")
