"""Prompts that were rendered before: a file or a table of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import PromptColumn, RenderOptions, engine_of
from promptpress.engine.errors import render_error
from promptpress.engine.tables import (
    PROMPT_COLUMN,
    column_of_prompts,
    is_json,
    is_text,
    named_json_field,
    without_json,
    without_views,
)
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.prompts.failed_rows import NO_REASON
from promptpress_workbench.prompts.prompt import Prompt, as_request, prompt_of
from promptpress_workbench.prompts.prompt_source import RequestBatch, RowEngine, SampleRows, take

_BATCH = 65536
_LABEL, _TURN, _SAMPLE, _ERROR = "label", "turn", "sample", "error"


class RenderedSource:
    """The prompts of a rendered table, whose origins aren't known.

    If there is a column of sample numbers, it tells the sample of each request. Otherwise samples are counted: the
    labels of ppl are the same for each sample and in one order, and turns ascend. Samples may have columns of the same
    names, so the values decide whether a column counts as one of these.
    """

    has_origins = False

    def __init__(self, rows: SampleRows, prompt_column: str = PROMPT_COLUMN) -> None:
        self.rows = rows
        self.prompt_column = prompt_column
        column_of_prompts(rows.schema, prompt_column)
        self._has_turns = self._holds_integers(_TURN)
        self._has_samples = self._holds_integers(_SAMPLE) and self._sample_column is not None

    def _holds_integers(self, name: str) -> bool:
        schema = self.rows.schema
        if name not in schema.names:
            return False
        kind = schema.field(name).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):  # as CSV has them
            numbers = pc.match_substring_regex(self.rows.column(name), r"\A(0|[1-9][0-9]{0,17})\z")
            return len(numbers) > 0 and pc.all(numbers, skip_nulls=False).as_py() is True
        return bool(pa.types.is_integer(kind))

    @cached_property
    def _label_count(self) -> int:
        """The number of labels of each sample; 0 without labels, and 1 if the samples' numbers show that there are."""
        if _LABEL not in self.rows.schema.names or self._has_turns:
            return 0
        if self._has_samples:
            numbers = self._samples
            return int(numbers is not None and pc.count_distinct(numbers).as_py() < len(numbers))
        return _period(self.rows.column(_LABEL))

    @property
    def labels(self) -> list[Any] | None:
        """The labels of each sample; None if there are none, or samples aren't counted by them."""
        return self.rows.column(_LABEL)[: self._label_count].to_pylist() if self._label_count else None

    def follow(self, labels: Sequence[Any]) -> None:
        """Count samples by another source's labels, given in order: if rows are missing, labels don't repeat here."""
        if self._label_count or self._has_turns or self._has_samples or _LABEL not in self.rows.schema.names:
            return
        values = _one_array(self.rows.column(_LABEL)).to_pylist()
        ranks = {str(label): rank for rank, label in enumerate(labels)}
        if not values or any(str(label) not in ranks for label in values):
            return
        ranked = pa.array([ranks[str(label)] for label in values], pa.int64())
        self._samples = _counted(pc.less_equal(ranked[1:], ranked[:-1]))
        self._label_count = len(labels)

    @cached_property
    def _samples(self) -> pa.Array | None:
        """The number of each request's sample; None if the label count alone gives it."""
        if self._has_samples:
            return self._sample_column
        return _samples_of(_one_array(self.rows.column(_TURN).cast(pa.int64()))) if self._has_turns else None

    @cached_property
    def _sample_column(self) -> pa.Array | None:
        """The column of sample numbers; None if its values can't be such."""
        try:
            numbers = _one_array(self.rows.column(_SAMPLE).cast(pa.int64()))
        except pa.ArrowInvalid:  # beyond int64
            return None
        return numbers if not numbers.null_count and not (len(numbers) and pc.min(numbers).as_py() < 0) else None

    @cached_property
    def _is_ascending(self) -> bool:
        """True if the requests of each sample stand together, in the order of the samples."""
        samples = self._samples
        if samples is None or not len(samples):
            return True
        return pc.all(pc.less_equal(samples[:-1], samples[1:])).as_py() is not False

    @property
    def num_samples(self) -> int:
        """The number of samples; in a file with their numbers, the last number and one."""
        if self._samples is not None:
            return int(pc.max(self._samples).as_py()) + 1 if len(self._samples) else 0
        return self.rows.num_rows // max(self._label_count, 1)

    def requests_of(self, row: int) -> Sequence[int]:
        """Return the row numbers of one sample's requests."""
        samples = self._samples
        if samples is None:
            times = max(self._label_count, 1)
            return range(row * times, (row + 1) * times)
        if not self._is_ascending:
            numbers: list[int] = pc.indices_nonzero(pc.equal(samples, row)).to_pylist()
            return numbers
        positions = range(len(samples))
        begin = bisect_left(positions, row, key=lambda position: samples[position].as_py())
        return range(begin, bisect_right(positions, row, begin, key=lambda position: samples[position].as_py()))

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        if not 0 <= row < self.num_samples:
            message = f"there is no such row: rows count from 0, and there are {self.num_samples}"
            raise render_error("row_out_of_range", message, row=row)
        out: list[Prompt] = []
        for number in self.requests_of(row):
            (rows,) = self.rows.row(number).to_batches()
            out += self._prompts(self._batch(rows, number))
        labels = [prompt.label for prompt in out]
        if label is not None:
            out = [prompt for prompt in out if str(prompt.label) == str(label)]
            if not out:
                names = ", ".join(repr(name) for name in labels[:5] if name is not None) or "no labels"
                raise render_error("unknown_label", f"there is no label {label!r}; there are {names}", row=row)
        if turn is not None:
            out = [prompt for prompt in out if prompt.turn == turn]
            if not out:
                raise render_error("turn_out_of_range", f"turn: there is no turn {turn}", row=row)
        return out

    def _prompts(self, batch: RequestBatch) -> Iterator[Prompt]:
        errors = [None] * len(batch) if batch.errors is None else batch.errors.to_pylist()
        for value, request, error in zip(to_pylist(batch.prompts), batch.ids(), errors, strict=True):
            yield replace(self.request(value, *request), error=error)

    def row_engine(self, row: int) -> RowEngine:
        tables = [self.rows.row(number) for number in self.requests_of(row)]
        return RowEngine(engine_of(PromptColumn(self.prompt_column)), pa.concat_tables(tables))

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        return prompt_of(as_request(value, is_json=None), sample, label=label, turn=turn)

    def requests(self) -> Iterator[RequestBatch]:
        if not self._is_ascending:
            yield from self._in_order()
            return
        first = 0
        for batch in self.rows.batches():
            yield self._batch(batch, first)
            first += batch.num_rows

    def _in_order(self) -> Iterator[RequestBatch]:
        """Yield the requests of shuffled rows in the order of their samples, which takes all rows into memory."""
        samples = self._samples
        assert samples is not None
        batches = [self._batch(batch, 0) for batch in self.rows.batches()]
        columns = {
            name: pa.chunked_array([getattr(batch, name) for batch in batches])
            for name in ("prompts", "labels", "turns", "errors")
            if getattr(batches[0], name) is not None
        }
        order = pc.array_sort_indices(samples)  # stable
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            yield RequestBatch(samples.take(rows), **{name: take(column, rows) for name, column in columns.items()})

    def _batch(self, batch: pa.RecordBatch, first: int) -> RequestBatch:
        def column(name: str) -> pa.Array:
            return batch.column(batch.schema.get_field_index(name))

        if self._samples is not None:
            samples = self._samples[first : first + batch.num_rows]
        else:
            times = max(self._label_count, 1)
            samples = pa.array([number // times for number in range(first, first + batch.num_rows)], pa.int64())
        prompts, errors = column_requests(batch, self.prompt_column, first)
        if is_json(batch.schema.field(self.prompt_column)):
            prompts = without_json(prompts, named_json_field(self.prompt_column, prompts.type), first)
        return RequestBatch(
            samples,
            prompts,
            column(_LABEL) if self._label_count else None,
            column(_TURN).cast(pa.int64()) if self._has_turns else None,
            "counted" if self._has_turns and not self._has_samples else "said",
            errors,
        )


def column_requests(batch: pa.RecordBatch, name: str, first: int = 0) -> tuple[pa.Array, pa.Array]:
    """Return the prompts of a column, conversations as the JSON of messages, and the error of each that is none."""
    run = engine_of(PromptColumn(name)).begin(RenderOptions(errors="column"), None, first)
    (part,) = run.parts(pa.Table.from_batches([batch]), first, single=True)
    given: Any = part.errors
    nulls = rendered_errors(batch.column(batch.schema.get_field_index(name)), batch)
    return part.prompts, pc.coalesce(nulls, given)


def rendered_errors(prompts: pa.Array, batch: pa.RecordBatch) -> pa.Array:
    """Return the error of each null among rendered prompts: that of the column `error` if there is one."""
    reasons: pa.Array = pa.scalar(NO_REASON, pa.string())
    index = batch.schema.get_field_index(_ERROR)
    if index >= 0 and is_text(batch.schema.field(index).type):
        reasons = pc.fill_null(without_views(batch.column(index)).cast(pa.string()), NO_REASON)
    return pc.if_else(prompts.is_null(), reasons, pa.scalar(None, pa.string()))


def _period(labels: pa.ChunkedArray) -> int:
    """Return after how many rows the labels repeat for every sample; 0 if they don't, and so aren't labels."""
    codes = _one_array(labels).dictionary_encode("encode").indices
    if not len(codes):
        return 0
    repeats = pc.indices_nonzero(pc.equal(codes[1:], codes[0]))
    period = int(repeats[0].as_py()) + 1 if len(repeats) else len(codes)
    if len(codes) % period or len(pc.unique(codes[:period])) != period:
        return 0
    return period if codes[period:].equals(codes[:-period]) else 0


def _samples_of(turns: pa.Array) -> pa.Array:
    """Count samples by turns: if each sample's turns are 0, 1, 2, ...; else every row is the last turn of a sample."""
    if not len(turns):
        return turns
    turns = pc.fill_null(turns, 0)  # a sample that can't be rendered has one row, and no turn
    begins = pc.less_equal(turns[1:], turns[:-1])
    is_next = pc.if_else(begins, pc.equal(turns[1:], 0), pc.equal(pc.subtract(turns[1:], turns[:-1]), 1))
    if turns[0].as_py() != 0 or pc.all(is_next).as_py() is False:
        return pa.array(range(len(turns)), pa.int64())
    return _counted(begins)


def _counted(begins: pa.Array) -> pa.Array:
    """Number samples from marks of the rows, all but the first, at which a sample begins."""
    return pc.cumulative_sum(pa.concat_arrays([pa.array([0], pa.int64()), begins.cast(pa.int64())]))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    array = without_views(column).combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
