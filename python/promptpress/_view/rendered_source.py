"""Prompts that were rendered before: a file or a table of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._errors import render_error
from promptpress._prompt_column import PROMPT_COLUMN, column_of_prompts
from promptpress._to_pylist import to_pylist
from promptpress._view.pieces import as_request, prompt_of
from promptpress._view.prompt import Prompt
from promptpress._view.prompt_source import RequestBatch
from promptpress._view.sample_rows import SampleRows

__all__ = ["ColumnNames", "RenderedSource"]

_BATCH = 65536
_ERROR = "error"


@dataclass(frozen=True)
class ColumnNames:
    """What the columns of a rendered file are called.

    Args:
        prompt: The prompts.
        label: The labels of ppl, where there are any.
        turn: The turns of conversations.
        sample: The numbers of the samples.

    """

    prompt: str = PROMPT_COLUMN
    label: str = "label"
    turn: str = "turn"
    sample: str = "sample"


class RenderedSource:
    """The prompts of a rendered table, whose origins nobody knows.

    Which sample a request is of says a column of row numbers, where there is one. Else it is counted: the labels of
    ppl are the same for each sample and stand in one order, and turns ascend. A column that only has the name of one
    of these, as samples may have, isn't taken for it.

    Args:
        rows: What was rendered.
        names: What its columns are called.

    Raises:
        RenderError: If there is no column of prompts.

    >>> from promptpress._view.sample_rows import TableRows
    >>> source = RenderedSource(TableRows(pa.table({"label": ["A", "B"] * 2, "prompt": ["a", "b", "c", "d"]})))
    >>> source.num_samples, [(prompt.label, prompt.text) for prompt in source.prompts(1)]
    (2, [('A', 'c'), ('B', 'd')])

    """

    has_origins = False

    def __init__(self, rows: SampleRows, names: ColumnNames | None = None) -> None:
        self.rows = rows
        self.names = names or ColumnNames()
        column_of_prompts(rows.schema, self.names.prompt)
        self._turns = self._has(self.names.turn)
        self._samples = self._has(self.names.sample) and self._numbers is not None

    def _has(self, name: str) -> bool:
        schema = self.rows.schema
        if name not in schema.names:
            return False
        kind = schema.field(name).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):  # as CSV has them
            numbers = pc.match_substring_regex(self.rows.column(name), r"\A(0|[1-9][0-9]{0,17})\z")
            return len(numbers) > 0 and pc.all(numbers, skip_nulls=False).as_py() is True
        return bool(pa.types.is_integer(kind))

    @cached_property
    def _labels(self) -> int:
        """How many labels each sample has, 0 where there are none; where samples have numbers, just not 0."""
        name = self.names.label
        if name not in self.rows.schema.names or self._turns:
            return 0
        if self._samples:
            numbers = self._firsts
            return int(numbers is not None and pc.count_distinct(numbers).as_py() < len(numbers))
        return _period(self.rows.column(name))

    @property
    def labels(self) -> list[Any] | None:
        """The labels of each sample; None where there are none, or they aren't counted by."""
        return self.rows.column(self.names.label)[: self._labels].to_pylist() if self._labels else None

    def follow(self, labels: Sequence[Any]) -> None:
        """Count samples by the labels of the other side, where rows are missing and so labels don't repeat.

        Args:
            labels: Those of each sample, in order.

        """
        name = self.names.label
        if self._labels or self._turns or self._samples or name not in self.rows.schema.names:
            return
        own = _whole(self.rows.column(name)).to_pylist()
        places = {str(label): place for place, label in enumerate(labels)}
        if not own or any(str(label) not in places for label in own):
            return
        ranks = pa.array([places[str(label)] for label in own], pa.int64())
        begins = pc.less_equal(ranks[1:], ranks[:-1])
        self._firsts = pc.cumulative_sum(pa.concat_arrays([pa.array([0], pa.int64()), begins.cast(pa.int64())]))
        self._labels = len(labels)

    @cached_property
    def _firsts(self) -> pa.Array | None:
        """The number of each request's sample, where it isn't plain arithmetic."""
        if self._samples:
            return self._numbers
        return _samples_of(_whole(self.rows.column(self.names.turn).cast(pa.int64()))) if self._turns else None

    @cached_property
    def _numbers(self) -> pa.Array | None:
        """The column of row numbers; None where it only has the name."""
        try:
            numbers = _whole(self.rows.column(self.names.sample).cast(pa.int64()))
        except pa.ArrowInvalid:  # beyond int64
            return None
        return numbers if not numbers.null_count and not (len(numbers) and pc.min(numbers).as_py() < 0) else None

    @cached_property
    def _is_ascending(self) -> bool:
        """Whether each sample's requests stand together, in the order of the samples."""
        firsts = self._firsts
        if firsts is None or not len(firsts):
            return True
        return pc.all(pc.less_equal(firsts[:-1], firsts[1:])).as_py() is not False

    @property
    def num_samples(self) -> int:
        """How many samples there are; of a file with their numbers, the last one's and one."""
        if self._firsts is not None:
            return int(pc.max(self._firsts).as_py()) + 1 if len(self._firsts) else 0
        return self.rows.num_rows // max(self._labels, 1)

    def _requests_of(self, row: int) -> Sequence[int]:
        """The numbers of one sample's requests."""
        firsts = self._firsts
        if firsts is None:
            times = max(self._labels, 1)
            return range(row * times, (row + 1) * times)
        if not self._is_ascending:
            found: list[int] = pc.indices_nonzero(pc.equal(firsts, row)).to_pylist()
            return found
        every = range(len(firsts))
        begin = bisect_left(every, row, key=lambda at: firsts[at].as_py())
        return range(begin, bisect_right(every, row, begin, key=lambda at: firsts[at].as_py()))

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the requests of one sample, as `PromptSource.prompts`."""
        if not 0 <= row < self.num_samples:
            message = f"there is no such row: rows count from 0, and there are {self.num_samples}"
            raise render_error("row_out_of_range", message, row=row)
        out = []
        for number in self._requests_of(row):
            (batch,) = self.rows.row(number).to_batches()
            out += [self._explained(prompt, batch) for prompt, _ in self._prompts(self._batch(batch, number))]
        labels = [prompt.label for prompt in out]
        if label is not None:
            out = [prompt for prompt in out if str(prompt.label) == str(label)]
            if not out:
                known = ", ".join(repr(own) for own in labels[:5] if own is not None) or "no labels"
                raise render_error("unknown_label", f"there is no label {label!r}; there are {known}", row=row)
        if turn is not None:
            out = [prompt for prompt in out if prompt.turn == turn]
            if not out:
                raise render_error("turn_out_of_range", f"turn: there is no turn {turn}", row=row)
        return out

    @staticmethod
    def _explained(prompt: Prompt, batch: pa.RecordBatch) -> Prompt:
        """Say of a request that isn't there what `errors="column"` has said."""
        at = batch.schema.get_field_index(_ERROR)
        said = batch.column(at)[0].as_py() if prompt.request is None and at >= 0 else None
        return replace(prompt, error=said) if isinstance(said, str) else prompt

    def _prompts(self, batch: RequestBatch) -> Iterator[tuple[Prompt, int]]:
        none = [None] * len(batch)
        labels = none if batch.labels is None else batch.labels.to_pylist()
        turns = none if batch.turns is None else batch.turns.to_pylist()
        values = zip(to_pylist(batch.prompts), batch.samples.to_pylist(), labels, turns, strict=True)
        for at, (value, sample, label, turn) in enumerate(values):
            yield self.request(value, sample, label, turn), at

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt, as `PromptSource.request`."""
        return prompt_of(as_request(value, is_json=None), sample, label=label, turn=turn)

    def requests(self) -> Iterator[RequestBatch]:
        """Go through all requests, as `PromptSource.requests`."""
        if not self._is_ascending:
            yield from self._in_order()
            return
        first = 0
        for batch in self.rows.batches():
            yield self._batch(batch, first)
            first += batch.num_rows

    def _in_order(self) -> Iterator[RequestBatch]:
        """Go through the requests of shuffled rows by their samples, which takes all of them into memory."""
        firsts = self._firsts
        assert firsts is not None
        whole = [self._batch(batch, 0) for batch in self.rows.batches()]
        columns = {"prompts": [one.prompts for one in whole]}
        for name in ("labels", "turns"):
            if getattr(whole[0], name) is not None:
                columns[name] = [getattr(one, name) for one in whole]
        order = pc.array_sort_indices(firsts)  # which is stable
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            taken = {name: _taken(pa.chunked_array(chunks), rows) for name, chunks in columns.items()}
            yield RequestBatch(firsts.take(rows), **taken)

    def _batch(self, batch: pa.RecordBatch, first: int) -> RequestBatch:
        def column(name: str) -> pa.Array:
            return batch.column(batch.schema.get_field_index(name))

        if self._firsts is not None:
            samples = self._firsts[first : first + batch.num_rows]
        else:
            times = max(self._labels, 1)
            samples = pa.array([number // times for number in range(first, first + batch.num_rows)], pa.int64())
        return RequestBatch(
            samples,
            column(self.names.prompt),
            column(self.names.label) if self._labels else None,
            column(self.names.turn).cast(pa.int64()) if self._turns else None,
            "counted" if self._turns and not self._samples else "said",
        )


def _period(labels: pa.ChunkedArray) -> int:
    """After how many rows labels begin again, if they do for every sample; else 0, and they are something else."""
    codes = _whole(labels).dictionary_encode("encode").indices
    if not len(codes):
        return 0
    repeats = pc.indices_nonzero(pc.equal(codes[1:], codes[0]))
    period = int(repeats[0].as_py()) + 1 if len(repeats) else len(codes)
    if len(codes) % period or len(pc.unique(codes[:period])) != period:
        return 0
    return period if codes[period:].equals(codes[:-period]) else 0


def _samples_of(turns: pa.Array) -> pa.Array:
    """Count samples by turns: where those of each begin with 0 and go on by one; else every row is a sample's last."""
    if not len(turns):
        return turns
    begins = pc.less_equal(turns[1:], turns[:-1])
    goes_on = pc.if_else(begins, pc.equal(turns[1:], 0), pc.equal(pc.subtract(turns[1:], turns[:-1]), 1))
    if turns[0].as_py() != 0 or pc.all(goes_on).as_py() is False:
        return pa.array(range(len(turns)), pa.int64())
    return pc.cumulative_sum(pa.concat_arrays([pa.array([0], pa.int64()), begins.cast(pa.int64())]))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; a view is a string then, which Arrow's kernels know."""
    return _whole_of(column.cast(pa.large_string()) if column.type == pa.string_view() else column)


def _taken(column: pa.ChunkedArray, rows: pa.Array) -> pa.Array:
    """Take rows of a column in any order, also where Arrow's kernel doesn't know the type."""
    column = column.cast(pa.large_string()) if column.type == pa.string_view() else column
    try:
        return _whole_of(column.take(rows))
    except pa.ArrowNotImplementedError:  # views within messages
        slices = [column.slice(row, 1).chunk(0) for row in rows.to_pylist()]
        return pa.concat_arrays(slices)


def _whole_of(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
