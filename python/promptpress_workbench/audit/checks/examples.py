"""Samples among their own examples: the same row, equal values, or similar values."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import bytes_of
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import ConfiguredBatch
from promptpress_workbench.audit.checks.check import ConfiguredCheck
from promptpress_workbench.audit.findings import MAX_FIRST_ROWS, Finding, Rows, finding_of, take_column, take_table
from promptpress_workbench.audit.subject import ConfiguredSubject
from promptpress_workbench.prompts.prompt_source import parent_rows

_MESSAGES = {
    "own_example_row": "the sample is itself among its examples: the same row of the same table",
    "own_example_equal": "an example has the sample's values in {columns}",
    "own_example_alike": "an example has the sample's values in {columns}, but for case, spaces and punctuation",
}
_MAX_COMPARED = 1000
"""The number of samples that are compared to find out if they are the table of examples."""

_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,}(?![^\W_])")


class OwnExamples(ConfiguredCheck):
    """Samples that are shown to the model as an example of themselves.

    Rows are compared by hashes of the columns that templates show and both tables have. The examples of each sample are
    those that the retriever chooses. If it chooses by the sample's position, the hashes are kept until all samples are
    read, which takes 32 bytes for each sample.
    """

    codes = tuple(_MESSAGES)
    reads_columns = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        examples = subject.examples
        assert examples is not None
        # The longest column comes first, because rows are skipped by its words.
        self._columns = sorted(_compared_columns(subject), key=lambda name: -bytes_of(examples[name]))
        if subject.output_column is not None and subject.output_column in examples.column_names:
            self._columns.append(subject.output_column)
        self._count = len(examples)
        self._examples = _hashes(examples.select(self._columns))
        self._kept: list[tuple[pa.Array, pa.Array]] = []
        self._fixed = self._fixed_choice()
        self._words = None if self._fixed is None else _word_finder(examples[self._columns[0]], self._fixed)
        self._by_code = {code: Rows() for code in _MESSAGES}
        self._first_example: dict[str, int] = {}
        """For each code, the row of the example that the first sample equals."""
        self._count_read = 0
        self._is_same_table = True

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        """Return true if requests show examples, which have columns of the samples."""
        return bool(subject.has_examples and subject.example_columns and _compared_columns(subject))

    def _fixed_choice(self) -> pa.Array | None:
        """Return the examples of every sample, if they are the same for all samples."""
        core = self._subject.core
        if core.by_position or core.index_column is not None:
            return None
        chosen = core.retrieve(1)
        return None if chosen is None else self._absolute(pc.unique(chosen.flatten().cast(pa.int64())))

    def _absolute(self, chosen: pa.Array) -> pa.Array:
        """Replace negative numbers of examples, which count from the end."""
        return pc.if_else(pc.less(chosen, 0), pc.add(chosen, self._count), chosen)

    def add(self, batch: ConfiguredBatch) -> None:
        samples = pa.Table.from_batches([batch.samples.select(self._columns)])
        gap = batch.first - self._count_read  # rows that can't be rendered, and were left out
        self._count_read = batch.first
        compared = samples.slice(0, max(0, _MAX_COMPARED - self._count_read))
        if self._is_same_table and len(compared):
            # Single rows may be equal by chance, but not all first rows.
            exact = _core.content_hashes(compared, False).cast(pa.binary())
            self._is_same_table = bool(exact.equals(self._examples[0].slice(self._count_read, len(compared))))
        self._count_read += len(samples)
        mask = batch.content.examples
        if self._fixed is not None:
            self._compare_fixed(batch.first, samples, self._fixed, mask)
            return
        hashes = _hashes(samples)
        if mask is not None:
            # A sample whose request shows no example equals none.
            nothing = pa.scalar(None, pa.binary())
            hashes = (pc.if_else(mask, hashes[0], nothing), pc.if_else(mask, hashes[1], nothing))
        if self._subject.core.by_position:
            self._kept += [(pa.nulls(gap, pa.binary()), pa.nulls(gap, pa.binary()))] if gap else []
            self._kept.append(hashes)
        elif self._subject.core.index_column is not None:
            self._compare(batch.first, hashes, batch.column(self._subject.core.index_column))

    def _compare_fixed(self, first: int, samples: pa.Table, chosen: pa.Array, mask: pa.Array | None) -> None:
        """Compare samples with the examples of all samples, of which few samples are similar to any."""
        rows = _core.repeated_rows(0, len(samples), 1)
        if self._words is not None:
            rows = pc.unique(self._words.find(samples[self._columns[0]].combine_chunks()).column(0))
        if mask is not None:
            rows = rows.filter(mask.take(rows))
        if not len(rows):
            return
        if len(rows) < len(samples):
            samples = take_table(samples, rows)
        normalised = _core.content_hashes(samples, True).cast(pa.binary())
        similar = pc.indices_nonzero(pc.is_in(normalised, value_set=self._examples[1].take(chosen)))
        if len(similar):
            lists = pa.array([chosen.to_pylist()] * len(similar), pa.list_(pa.int64()))
            exact = _core.content_hashes(take_table(samples, similar), False).cast(pa.binary())
            self._compare(first, (exact, normalised.take(similar)), lists, rows.take(similar))

    def _compare(
        self, first: int, hashes: tuple[pa.Array, pa.Array], chosen: pa.Array, rows: pa.Array | None = None
    ) -> None:
        """Compare samples with their lists of examples; `rows` has their numbers after `first` if some are left out."""
        parents = parent_rows(chosen)
        examples = self._absolute(chosen.flatten().cast(pa.int64()))
        numbers = pc.add(parents if rows is None else rows.take(parents), first)
        exact, similar = (
            pc.equal(of_samples.take(parents), of_examples.take(examples))
            for of_samples, of_examples in zip(hashes, self._examples, strict=True)
        )
        same = pc.and_(exact, pc.equal(numbers, examples))
        done = pa.array([], pa.int64())
        for code, mask in zip(_MESSAGES, (same, exact, similar), strict=True):
            matches = pc.indices_nonzero(mask)
            samples = numbers.take(matches)
            is_new = pc.invert(pc.is_in(samples, value_set=done))
            samples = samples.filter(is_new)
            if len(samples):
                self._first_example.setdefault(code, examples[matches.filter(is_new)[0].as_py()].as_py())
                self._by_code[code].add(pc.unique(samples))
                done = pa.concat_arrays([done, samples])

    def _compare_kept(self) -> None:
        chosen = self._subject.core.retrieve(self._count_read)
        first = 0
        for hashes in self._kept:
            assert chosen is not None
            self._compare(first, hashes, chosen.slice(first, len(hashes[0])))
            first += len(hashes[0])
        self._kept = []

    def _merge_same_rows(self) -> None:
        """Count rows with the same number as merely equal, because the tables differ."""
        merged = {code: self._by_code.pop(code) for code in ("own_example_row", "own_example_equal")}
        first_examples = {rows.first[0]: self._first_example[code] for code, rows in merged.items() if rows}
        first = sorted(number for rows in merged.values() for number in rows.first)[:MAX_FIRST_ROWS]
        rows = Rows(sum(rows.count for rows in merged.values()), first)
        self._by_code = {"own_example_equal": rows, **self._by_code}
        self._first_example["own_example_equal"] = first_examples[first[0]]

    def findings(self) -> Iterator[Finding]:
        if self._kept:
            self._compare_kept()
        columns = ", ".join(map(repr, self._columns))
        if not self._is_same_table and self._by_code["own_example_row"]:
            self._merge_same_rows()
        for code, rows in self._by_code.items():
            if rows:
                row = self._subject.row_number(rows.first[0])
                example = f"; of row {row} it is row {self._first_example[code]} of the examples"
                yield finding_of(code, _MESSAGES[code].format(columns=columns) + example, rows)


def _compared_columns(subject: ConfiguredSubject) -> list[str]:
    """Return the columns that templates show and both tables have, without the answer."""
    examples = subject.examples
    names = [] if examples is None else examples.column_names
    return [name for name in subject.template_columns if name in names and name != subject.output_column]


def _hashes(rows: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return a hash of each row, and one that ignores case, spaces and punctuation."""
    exact, normalised = (_core.content_hashes(rows, flag).cast(pa.binary()) for flag in (False, True))
    return exact, normalised


def _word_finder(column: pa.ChunkedArray, chosen: pa.Array) -> _core.TextFinder | None:
    """Return a finder of the longest word of each example, in the cases that words have; None if one has no word.

    A sample without any of these words is similar to no example. Looking for words is ten times as fast as comparing
    texts without case, spaces and punctuation.
    """
    longest = set()
    for text in take_column(column, chosen.take(pc.sort_indices(chosen))).to_pylist():
        words = _WORD.findall(text) if isinstance(text, str) else []
        if not words:
            return None
        longest.add(max(words, key=len))
    cases = {case for word in longest for case in (word, word.lower(), word.upper(), word.capitalize())}
    return _core.TextFinder(sorted(cases))
