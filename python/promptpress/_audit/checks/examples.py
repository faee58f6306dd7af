"""Samples among their own examples: the same row, equal values, or values that are alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.finding import MAX_FIRST_ROWS, Finding, Rows, finding_of
from promptpress._audit.subject import Subject
from promptpress._audit.taken import taken, taken_of_table
from promptpress._list_items import parent_rows
from promptpress._sizes import bytes_of

__all__ = ["OwnExamples"]

_SAID = {
    "own_example_row": "the sample is itself among its examples: the same row of the same table",
    "own_example_equal": "an example has the sample's values in {columns}",
    "own_example_alike": "an example has the sample's values in {columns}, but for case, spaces and punctuation",
}
_COMPARED = 1000
"""Samples that are looked at to tell whether they are the examples' own table."""

_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,}(?![^\W_])")


class OwnExamples:
    """Samples that are shown to the model as an example of themselves.

    Rows are compared by fingerprints of the columns that templates show and both tables have. What is chosen for each
    sample is the retriever's own choice. Where that goes by the sample's position the fingerprints are kept, 32 bytes a
    sample, until all are seen.
    """

    def __init__(self, subject: Subject, examples: pa.Table, columns: list[str]) -> None:
        self._subject = subject
        self._columns = columns
        self._count = len(examples)
        self._examples = tuple(self._hashed(examples.select(columns), normalised=flag) for flag in (False, True))
        self._kept: list[tuple[pa.Array, pa.Array]] = []
        self._fixed = self._fixed_choice()
        self._words = None if self._fixed is None else _Words.of(examples, columns[0], self._fixed)
        self._rows = {code: Rows() for code in _SAID}
        self._which: dict[str, int] = {}
        self._seen = 0
        self._is_same_table = True

    @classmethod
    def of(cls, subject: Subject) -> OwnExamples | None:
        """Where examples are shown, and have the samples' columns."""
        examples = subject.renderer._configuration.examples
        if not subject.has_examples or examples is None or not len(examples):
            return None
        own = [name for name in subject.template_columns if name in examples.column_names]
        own = [name for name in own if name != subject.output_column]
        if not own or not subject.example_columns:
            return None
        # The longest first: by it rows are passed over.
        own.sort(key=lambda name: -bytes_of(examples[name]))
        answers = [subject.output_column] if subject.output_column in examples.column_names else []
        return cls(subject, examples, [*own, *filter(None, answers)])

    @staticmethod
    def _hashed(rows: pa.Table, *, normalised: bool) -> pa.Array:
        return _core.content_hashes(rows, normalised).cast(pa.binary())

    def _fixed_choice(self) -> pa.Array | None:
        core = self._subject.core
        if core.by_position or core.index_column is not None:
            return None
        chosen = core.retrieve(1)
        return None if chosen is None else self._absolute(pc.unique(chosen.flatten().cast(pa.int64())))

    def add(self, batch: Batch) -> None:
        """Compare more samples with their examples."""
        samples = pa.Table.from_batches([batch.samples.select(self._columns)])
        self._compare_tables(samples.slice(0, max(0, _COMPARED - self._seen)))
        self._seen += len(samples)
        shown = batch.shown.examples
        if self._fixed is not None:
            self._compare_fixed(batch.first, samples, self._fixed, shown)
            return
        hashes = (self._hashed(samples, normalised=False), self._hashed(samples, normalised=True))
        if shown is not None:
            # A sample whose request shows no example is like none.
            nothing = pa.scalar(None, pa.binary())
            hashes = (pc.if_else(shown, hashes[0], nothing), pc.if_else(shown, hashes[1], nothing))
        if self._subject.core.by_position:
            self._kept.append(hashes)
        elif self._subject.core.index_column is not None:
            self._compare(batch.first, hashes, batch.column(self._subject.core.index_column))

    def _compare_tables(self, samples: pa.Table) -> None:
        """See whether samples are the examples from their beginning on: one row may be equal by chance."""
        if self._is_same_table and len(samples):
            own, theirs = self._hashed(samples, normalised=False), self._examples[0].slice(self._seen, len(samples))
            self._is_same_table = bool(own.equals(theirs))

    def _compare_fixed(self, first: int, samples: pa.Table, chosen: pa.Array, shown: pa.Array | None) -> None:
        """Compare samples with examples that all of them have: few are like any."""
        rows = _core.repeated_rows(0, len(samples), 1)
        if self._words is not None:
            rows = self._words.rows(samples[self._columns[0]])
        if shown is not None:
            rows = rows.filter(shown.take(rows))
        if len(rows) < len(samples):
            samples = taken_of_table(samples, rows)
        if not len(rows):
            return
        alike = self._hashed(samples, normalised=True)
        near = pc.indices_nonzero(pc.is_in(alike, value_set=self._examples[1].take(chosen)))
        if len(near):
            lists = pa.array([chosen.to_pylist()] * len(near), pa.list_(pa.int64()))
            hashes = (self._hashed(taken_of_table(samples, near), normalised=False), alike.take(near))
            self._compare(first, hashes, lists, rows.take(near))

    def _compare(
        self, first: int, hashes: tuple[pa.Array, pa.Array], chosen: pa.Array, rows: pa.Array | None = None
    ) -> None:
        parents = parent_rows(chosen)
        picked = self._absolute(chosen.flatten().cast(pa.int64()))
        numbers = pc.add(parents if rows is None else rows.take(parents), first)
        exact, alike = (
            pc.equal(own.take(parents), theirs.take(picked)) for own, theirs in zip(hashes, self._examples, strict=True)
        )
        same = pc.and_(exact, pc.equal(numbers, picked))
        known = pa.array([], pa.int64())
        for code, mask in zip(_SAID, (same, exact, alike), strict=True):
            places = pc.indices_nonzero(mask)
            own = numbers.take(places)
            fresh = pc.invert(pc.is_in(own, value_set=known))
            own = own.filter(fresh)
            if len(own):
                self._which.setdefault(code, picked[places.filter(fresh)[0].as_py()].as_py())
                self._rows[code].add(pc.unique(own))
                known = pa.concat_arrays([known, own])

    def _absolute(self, chosen: pa.Array) -> pa.Array:
        return pc.if_else(pc.less(chosen, 0), pc.add(chosen, self._count), chosen)

    def _compare_kept(self) -> None:
        chosen = self._subject.core.retrieve(self._seen)
        first = 0
        for hashes in self._kept:
            assert chosen is not None
            self._compare(first, hashes, chosen.slice(first, len(hashes[0])))
            first += len(hashes[0])
        self._kept = []

    def _take_for_equal(self) -> None:
        """Tables differ, so that what stands in the same place of both is no more than equal."""
        found = {code: self._rows.pop(code) for code in ("own_example_row", "own_example_equal")}
        begins = {rows.first[0]: self._which[code] for code, rows in found.items() if rows}
        first = sorted(number for rows in found.values() for number in rows.first)[:MAX_FIRST_ROWS]
        self._rows = {"own_example_equal": Rows(sum(rows.count for rows in found.values()), first), **self._rows}
        self._which["own_example_equal"] = begins[first[0]]

    def findings(self) -> Iterator[Finding]:
        """Say which samples have themselves as an example."""
        if self._kept:
            self._compare_kept()
        columns = ", ".join(map(repr, self._columns))
        if not self._is_same_table and self._rows["own_example_row"]:
            self._take_for_equal()
        for code, rows in self._rows.items():
            if rows:
                which = f"; of row {rows.first[0]} it is row {self._which[code]} of the examples"
                yield finding_of(code, _SAID[code].format(columns=columns) + which, rows)


class _Words:
    """The longest word of each example, in the cases that words have: what lacks all of them is like no example.

    Looking for some words is ten times as fast as reading texts without regard to case, spaces and punctuation.
    """

    def __init__(self, words: set[str]) -> None:
        cases = {case for word in words for case in (word, word.lower(), word.upper(), word.capitalize())}
        self._finder = _core.TextFinder(sorted(cases))

    @classmethod
    def of(cls, examples: pa.Table, name: str, chosen: pa.Array) -> _Words | None:
        """Take the words; None where an example has none that would do."""
        words = set()
        for text in taken(examples[name], chosen.take(pc.sort_indices(chosen))).to_pylist():
            found = _WORD.findall(text) if isinstance(text, str) else []
            if not found:
                return None
            words.add(max(found, key=len))
        return cls(words)

    def rows(self, column: pa.ChunkedArray) -> pa.Array:
        """The rows that have one."""
        found = self._finder.find(column.combine_chunks()).column(0)
        return pc.unique(found)
