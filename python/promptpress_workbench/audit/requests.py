"""Requests without text or beyond a limit, and equal requests of different samples or of one sample's labels."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import Encoder

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch, Requests
from promptpress_workbench.audit.check import Check, ConfiguredCheck
from promptpress_workbench.audit.codes import LIMITS
from promptpress_workbench.audit.findings import Finding, Rows, finding_of, sorted_unique, take_column, without
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject

_MAX_EMPTY_BYTES = 64
"""The most bytes of a request of white space alone: longer templates have text."""

_UNITS = ("bytes", "tokens")
"""The limits of whole prompts."""


class EmptyPrompts(Check):
    """Requests without text."""

    codes = ("empty_prompt",)
    reads_requests = True

    def add(self, batch: Batch) -> None:
        for requests in batch.requests:
            short: pa.Array | None = None
            for texts in requests.texts:
                lengths = pc.fill_null(pc.binary_length(texts.array), 0)
                if texts.parents is None:
                    short = pc.indices_nonzero(pc.less_equal(lengths, _MAX_EMPTY_BYTES)).cast(pa.int64())
                    continue
                if short is None:
                    short = _core.repeated_rows(0, len(requests.prompts), 1)
                # Most conversations have a long message, which rules the request out.
                long = _rows_with(pc.greater(lengths, _MAX_EMPTY_BYTES), texts.parents)
                short = short.slice(0, 0) if len(long) == len(requests.prompts) else without(short, long)
            if short is not None and len(short):
                self._add_empty(requests, short)

    def _add_empty(self, requests: Requests, short: pa.Array) -> None:
        for texts in requests.texts:
            if texts.parents is None:
                parents, array = short, texts.array.take(short)
            else:
                is_short = pc.is_in(texts.parents, value_set=short)
                parents, array = texts.parents.filter(is_short), texts.array.filter(is_short)
            has_text = pc.not_equal(pc.utf8_trim_whitespace(pc.fill_null(array, "")), "")
            short = without(short, parents.filter(has_text))
        self._rows.add(pc.unique(requests.samples.take(short)))

    def findings(self) -> Iterator[Finding]:
        yield finding_of("empty_prompt", "the prompt has no text, or white space alone", self._rows)


def _rows_with(mask: pa.Array, rows: pa.Array) -> pa.Array:
    """Return the rows, each once, that have a value that a mask marks; `rows` has the row of each value, ascending."""
    if not len(rows):
        return rows
    # Counts up to the last value of each row are several times as fast as looking up the rows of all values.
    last = pc.indices_nonzero(pc.not_equal(rows[1:], rows[:-1]))
    last = pa.concat_arrays([last, pa.array([len(rows) - 1], last.type)])
    counts = pc.cumulative_sum(mask.cast(pa.int32())).take(last)
    before = pa.concat_arrays([pa.array([0], counts.type), counts[:-1]])
    return rows.take(last.filter(pc.greater(counts, before)))


class EqualLabels(ConfiguredCheck):
    """Labels of one sample with equal prompts."""

    codes = ("equal_labels",)
    reads_requests = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        self._labels = subject.labels or []
        self._pair = ""

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        return subject.labels is not None and len(subject.labels) > 1

    def add(self, batch: ConfiguredBatch) -> None:
        for requests in batch.requests:
            hashes = _core.request_hashes(requests.prompts, self._subject.is_json)
            table = pa.table({"sample": requests.samples, "hash": hashes.cast(pa.binary())})
            counted = table.group_by(["sample", "hash"], use_threads=False).aggregate([([], "count_all")])
            repeated = counted.filter(pc.greater(counted["count_all"], 1))
            if len(repeated):
                rows = sorted_unique(repeated["sample"].combine_chunks())
                if not self._pair:
                    values = table.filter(pc.equal(table["sample"], rows[0]))["hash"].to_pylist()
                    second = next(index for index, value in enumerate(values) if value in values[:index])
                    self._pair = f"{self._labels[values.index(values[second])]!r} and {self._labels[second]!r}"
                self._rows.add(rows)

    def findings(self) -> Iterator[Finding]:
        message = f"labels of one sample have equal prompts; in the first row {self._pair}"
        yield finding_of("equal_labels", message, self._rows)


class EqualPrompts(Check):
    """Equal prompts of different samples, for which 40 bytes of each sample are kept."""

    codes = ("equal_prompts", "duplicate_samples")
    reads_requests = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._tables: list[pa.Table] = []

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return false for conversations, whose turns begin alike by design, and so may those of two samples."""
        return not subject.has_turns and subject.labels != []

    def add(self, batch: Batch) -> None:
        """Keep the hashes of each sample's first request and of its answer."""
        times = self._subject.requests_per_sample
        hashes = []
        for requests in batch.requests:
            prompts = requests.prompts
            if times > 1:
                prompts = take_column(prompts, pc.multiply(_core.repeated_rows(0, len(prompts) // times, 1), times))
            for chunk in prompts.chunks if isinstance(prompts, pa.ChunkedArray) else (prompts,):
                hashes.append(_core.content_hashes(pa.table({"prompt": chunk}), False).cast(pa.binary()))
        rows = _core.repeated_rows(batch.first, batch.samples.num_rows, 1)
        prompt_hashes = pa.concat_arrays(hashes) if hashes else pa.array([], pa.binary())
        self._tables.append(pa.table({"prompt": prompt_hashes, "answer": batch.answers, "row": rows}))

    def findings(self) -> Iterator[Finding]:
        if not self._tables:
            return
        table = pa.concat_tables(self._tables).combine_chunks()
        encoded = table["prompt"].chunk(0).dictionary_encode()
        if len(encoded.dictionary) == len(encoded):
            return
        prompts = encoded.indices
        # Prompts are numbered in the order in which they first occur.
        is_repeated = pc.greater(pc.struct_field(pc.value_counts(prompts), "counts"), 1)
        numbers = _core.repeated_rows(0, len(is_repeated), 1).cast(prompts.type)
        has_several = pc.is_in(numbers, value_set=_with_several(prompts, table["answer"]))
        for code, mask, answers in (
            ("equal_prompts", pc.and_(is_repeated, has_several), "with different answers"),
            ("duplicate_samples", pc.and_not(is_repeated, has_several), "with the same answer"),
        ):
            count = pc.sum(mask).as_py()
            if not count:
                continue
            equal = pc.indices_nonzero(mask.take(prompts))
            rows = Rows()
            rows.add(table["row"].chunk(0).take(equal))
            first = pc.indices_nonzero(pc.equal(prompts, prompts[equal[0].as_py()])).slice(0, 2)
            row, other = map(self._subject.row_number, table["row"].take(first).to_pylist())
            if self._subject.output_column is None:
                answers = "and no column of answers is known"  # noqa: PLW2901
            message = (
                f"{count:,} prompt{'s occur' if count > 1 else ' occurs'} for several samples, {answers}: "
                f"for example rows {row} and {other}"
            )
            yield finding_of(code, message, rows)


def _with_several(prompts: pa.Array, answers: pa.ChunkedArray) -> pa.Array:
    """Return the prompts, given by number, whose samples have several answers; nulls are no answers."""
    if answers.null_count == len(answers):
        return prompts.slice(0, 0)
    pairs = pa.table({"prompt": prompts, "answer": answers.chunk(0).dictionary_encode().indices})
    pairs = pairs.group_by(["prompt", "answer"], use_threads=False).aggregate([])
    counted = pc.value_counts(pairs.filter(pairs["answer"].is_valid())["prompt"])
    return pc.struct_field(counted.filter(pc.greater(pc.struct_field(counted, "counts"), 1)), "values")


class Lengths(Check):
    """Prompts beyond a limit."""

    codes = tuple(LIMITS[unit].code for unit in _UNITS)
    reads_requests = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        units = [unit for unit in _UNITS if unit in subject.limits and LIMITS[unit].code in subject.codes]
        self._limits = {unit: subject.limits[unit] for unit in units}
        self._long = {unit: Rows() for unit in self._limits}
        self._longest = dict.fromkeys(self._limits, 0)

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        return any(unit in subject.limits for unit in _UNITS)

    def add(self, batch: Batch) -> None:
        for requests in batch.requests:
            for unit, limit in self._limits.items():
                if unit == "bytes":
                    sizes, _ = _core.request_sizes(requests.prompts, self._subject.is_json)
                    sizes = pc.fill_null(sizes.cast(pa.int64()), 0)
                else:
                    sizes = self._token_counts(requests)
                over = pc.indices_nonzero(pc.greater(sizes, limit))
                if len(over):
                    self._long[unit].add(pc.unique(requests.samples.take(over)))
                    self._longest[unit] = max(self._longest[unit], pc.max(sizes).as_py())

    def _token_counts(self, requests: Requests) -> pa.Array:
        counter = self._subject.counter
        assert counter is not None  # validated together with the limits
        totals = [0] * len(requests.prompts)
        for texts in requests.texts:
            counts = Encoder.of(counter).counts(
                ["" if text is None else text for text in texts.array.to_pylist()], special=False
            )
            if texts.parents is None:
                return pa.array([count or 0 for count in counts], pa.int64())
            for parent, count in zip(texts.parents.to_pylist(), counts, strict=True):
                totals[parent] += count or 0
        return pa.array(totals, pa.int64())

    def findings(self) -> Iterator[Finding]:
        for unit, limit in self._limits.items():
            message = f"the prompt has more than {limit:,} {unit}; the longest has {self._longest[unit]:,}"
            yield finding_of(LIMITS[unit].code, message, self._long[unit])
