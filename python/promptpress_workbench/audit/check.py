"""The base classes of the checks, and searches for texts in columns and in the rows that examples are made of."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import Batch, Columns, ConfiguredBatch
from promptpress_workbench.audit.findings import Finding, Rows, concatenated, finding_of, take_table
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject

AnySubject = TypeVar("AnySubject", bound=Subject)
AnyBatch = TypeVar("AnyBatch", bound=Batch)

_MAX_LISTED = 5


class _AnyCheck(Generic[AnySubject, AnyBatch]):
    """One concern of an audit. It is made for a subject, sees each batch in order, and then yields its findings."""

    codes: ClassVar[Collection[str]]
    """The codes of the findings that it can yield."""
    reads_columns: ClassVar[bool] = False
    """True if it reads the columns that requests show; for a template, spans say which these are."""
    reads_requests: bool = False
    """True if it reads the requests of every batch, which are then rendered ahead."""

    def __init__(self, subject: AnySubject) -> None:
        self._subject = subject
        self._rows = Rows()

    @classmethod
    def applies_to(cls, subject: AnySubject) -> bool:  # noqa: ARG003 - most checks apply to every subject
        """Return true if the check can find anything about a subject."""
        return True

    def add(self, batch: AnyBatch) -> None:
        """Look at more samples. Checks of the configuration alone look at none."""

    def findings(self) -> Iterable[Finding]:
        """Yield the findings; those of no rows aren't listed."""
        raise NotImplementedError


class Check(_AnyCheck[Subject, Batch]):
    """A check for every renderer."""


class ConfiguredCheck(_AnyCheck[ConfiguredSubject, ConfiguredBatch]):
    """A check for renderers with a configuration; templates have none."""


class ExampleRows(Columns):
    """The rows of examples that can be chosen, with their numbers, and for each shown column a mask of the rows."""

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


def findings_of_examples(code: str, message: str, rows: Rows, name: str) -> Iterator[Finding]:
    """Yield a finding about a column of the examples, whose message lists the rows: they aren't the samples'."""
    if not rows:
        return
    numbers = ", ".join(map(str, rows.first[:_MAX_LISTED])) + (", …" if rows.count > _MAX_LISTED else "")
    location = f"column {name!r} of the examples, row{'s' if rows.count != 1 else ''} {numbers}"
    yield finding_of(code, f"{location}: {message}")


class TextMatches:
    """The rows of one column with one of some needles, and the number of each; columns may share a `finder`."""

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
