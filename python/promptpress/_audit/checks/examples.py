"""Samples among their own examples: the same row, equal values, or values that are alike."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["OwnExamples"]

_ROWS = 65_536
_SAID = {
    "own_example_row": "the sample is itself among its examples: the same row of the same table",
    "own_example_equal": "an example has the sample's values in {columns}",
    "own_example_alike": "an example has the sample's values in {columns}, but for case, spaces and punctuation",
}


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
        batch = examples.select(columns).combine_chunks().to_batches()
        self._examples = self._hashes(batch[0]) if batch else None
        self._kept: list[tuple[pa.Array, pa.Array]] = []
        self._fixed = self._fixed_choice()
        self._rows = {code: Rows() for code in _SAID}
        self._which: dict[str, int] = {}
        self._seen = 0

    @classmethod
    def of(cls, subject: Subject) -> OwnExamples | None:
        """Where examples are shown, and have the samples' columns."""
        examples = subject.renderer._configuration.examples
        if not subject.has_examples or examples is None or not len(examples):
            return None
        own = set(subject.shown_columns)
        shared = [name for name in examples.column_names if name in own or name == subject.output_column]
        shared = [name for name in shared if name in subject.schema.names]
        return cls(subject, examples, shared) if set(shared) - {subject.output_column} else None

    def _hashes(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        exact, alike = (_core.content_hashes(rows, normalised) for normalised in (False, True))
        return exact.cast(pa.binary()), alike.cast(pa.binary())

    def _fixed_choice(self) -> pa.Array | None:
        core = self._subject.core
        if core.by_position or core.index_column is not None:
            return None
        chosen = core.retrieve(1)
        return None if chosen is None else pc.unique(chosen.flatten().cast(pa.int64()))

    def add(self, batch: Batch) -> None:
        """Compare more samples with their examples."""
        if self._examples is None:
            return
        hashes = self._hashes(batch.samples.select(self._columns))
        if self._subject.core.by_position:
            self._kept.append(hashes)
        elif self._fixed is not None:
            self._compare_fixed(batch.first, hashes)
        else:
            name = self._subject.core.index_column
            assert name is not None
            column = batch.column(name)
            self._compare(batch.first, hashes, column)
        self._seen += batch.samples.num_rows

    def _compare_fixed(self, first: int, hashes: tuple[pa.Array, pa.Array]) -> None:
        """Compare samples with examples that all of them have: few are like any."""
        assert self._fixed is not None
        assert self._examples is not None
        chosen = self._absolute(self._fixed)
        near = pc.is_in(hashes[1], value_set=self._examples[1].take(chosen))
        near = pc.or_(near, pc.is_in(hashes[0], value_set=self._examples[0].take(chosen)))
        rows = pc.indices_nonzero(near)
        if len(rows):
            lists = pa.array([chosen.to_pylist()] * len(rows), pa.list_(pa.int64()))
            picked = (hashes[0].take(rows), hashes[1].take(rows))
            self._compare(first, picked, lists, rows.cast(pa.int64()))

    def _compare(
        self, first: int, hashes: tuple[pa.Array, pa.Array], chosen: pa.Array, rows: pa.Array | None = None
    ) -> None:
        assert self._examples is not None
        parents = pc.list_parent_indices(chosen).cast(pa.int64())
        picked = self._absolute(chosen.flatten().cast(pa.int64()))
        numbers = pc.add(parents if rows is None else rows.take(parents), first)
        exact = pc.equal(hashes[0].take(parents), self._examples[0].take(picked))
        alike = pc.equal(hashes[1].take(parents), self._examples[1].take(picked))
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
        for exact, alike in self._kept:
            assert chosen is not None
            self._compare(first, (exact, alike), chosen.slice(first, len(exact)))
            first += len(exact)
        self._kept = []

    def findings(self) -> Iterator[Finding]:
        """Say which samples have themselves as an example."""
        if self._kept:
            self._compare_kept()
        columns = ", ".join(map(repr, self._columns))
        for code, rows in self._rows.items():
            if rows:
                which = f"; of row {rows.first[0]} it is row {self._which[code]} of the examples"
                yield finding_of(code, _SAID[code].format(columns=columns) + which, rows)
