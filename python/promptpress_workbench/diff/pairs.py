"""Pairs of requests of two sources that belong to the same sample, label and turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress_workbench.prompts.prompt_source import RequestBatch


@dataclass(frozen=True)
class Pairs:
    """Requests that both sides have, row by row: of the same samples, labels and turns."""

    a: RequestBatch
    b: RequestBatch


@dataclass(frozen=True)
class Unpaired:
    """A request that only one side has."""

    sample: int
    label: Any
    turn: int | None
    is_a: bool


class _Request(NamedTuple):
    sample: int
    label: Any
    turn: int | None
    is_a: bool
    batch: RequestBatch
    row: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (None if self.label is None else str(self.label), self.turn)

    @property
    def unpaired(self) -> Unpaired:
        return Unpaired(self.sample, self.label, self.turn, self.is_a)


def paired(a: Iterator[RequestBatch], b: Iterator[RequestBatch]) -> Iterator[Pairs | Unpaired]:
    """Pair the requests of two streams, which are both ordered by sample.

    As long as both streams have the same samples, labels and turns, which is the usual case, whole batches are paired.
    After the first difference, each sample's requests are paired by label and turn.
    """
    left, right = _Stream(a), _Stream(b)
    while rows := min(left.available(), right.available()):
        mine, yours = left.peek(rows), right.peek(rows)
        if not _have_same_keys(mine, yours):
            break
        left.skip(rows)
        right.skip(rows)
        if _is_one_counted(mine, yours):  # counted samples may be wrong, and the renderer's are right
            samples = mine.samples if mine.numbering == "own" else yours.samples
            mine, yours = replace(mine, samples=samples), replace(yours, samples=samples)
        yield Pairs(mine, yours)
    by_sample = attrgetter("sample")
    for _, requests in groupby(
        merge(_requests(left, is_a=True), _requests(right, is_a=False), key=by_sample), by_sample
    ):
        yield from _of_sample(requests)


class _Stream:
    """A stream of requests that can be looked at before they are consumed."""

    def __init__(self, batches: Iterator[RequestBatch]) -> None:
        self._batches = batches
        self._batch: RequestBatch | None = None
        self._offset = 0

    def available(self) -> int:
        """Return the number of requests that can be peeked at; 0 at the end."""
        while self._batch is None or self._offset == len(self._batch):
            self._batch, self._offset = next(self._batches, None), 0
            if self._batch is None:
                return 0
        return len(self._batch) - self._offset

    def peek(self, rows: int) -> RequestBatch:
        assert self._batch is not None
        return _slice(self._batch, self._offset, rows)

    def skip(self, rows: int) -> None:
        self._offset += rows


def _slice(batch: RequestBatch, start: int, rows: int) -> RequestBatch:
    if start == 0 and rows == len(batch):
        return batch
    labels = None if batch.labels is None else batch.labels.slice(start, rows)
    turns = None if batch.turns is None else batch.turns.slice(start, rows)
    samples, prompts = batch.samples.slice(start, rows), batch.prompts.slice(start, rows)
    return RequestBatch(samples, prompts, labels, turns, batch.numbering)


def _have_same_keys(batch: RequestBatch, other: RequestBatch) -> bool:
    return (
        (_is_one_counted(batch, other) or batch.samples.cast(pa.int64()).equals(other.samples.cast(pa.int64())))
        and _are_same(batch.labels, other.labels)
        and _are_same(batch.turns, other.turns)
    )


def _is_one_counted(batch: RequestBatch, other: RequestBatch) -> bool:
    """Return true if one side's samples are counted by turns and the other's are known.

    Counting goes wrong if only the last turns are rendered, because their numbers don't show where a sample begins.
    """
    return {batch.numbering, other.numbering} == {"own", "counted"}


def _are_same(values: pa.Array | None, others: pa.Array | None) -> bool:
    if values is None or others is None:
        return values is others
    if values.type == others.type:
        return bool(values.equals(others))
    return [str(value) for value in values.to_pylist()] == [str(value) for value in others.to_pylist()]


def _requests(stream: _Stream, *, is_a: bool) -> Iterator[_Request]:
    while rows := stream.available():
        batch = stream.peek(rows)
        stream.skip(rows)
        none = [None] * rows
        labels = none if batch.labels is None else batch.labels.to_pylist()
        turns = none if batch.turns is None else batch.turns.to_pylist()
        for row, (sample, label, turn) in enumerate(zip(batch.samples.to_pylist(), labels, turns, strict=True)):
            yield _Request(sample, label, turn, is_a, batch, row)


def _of_sample(requests: Iterable[_Request]) -> Iterator[Pairs | Unpaired]:
    """Pair the requests of one sample, of which the first side's come first."""
    mine: list[_Request] = []
    waiting: dict[tuple[Any, ...], list[_Request]] = {}
    for request in requests:
        if request.is_a:
            mine.append(request)
        else:
            waiting.setdefault(request.key, []).append(request)
    for request in mine:
        others = waiting.get(request.key)
        if others:
            other = others.pop(0)
            yield Pairs(_slice(request.batch, request.row, 1), _slice(other.batch, other.row, 1))
        else:
            yield request.unpaired
    for others in waiting.values():
        yield from (request.unpaired for request in others)
