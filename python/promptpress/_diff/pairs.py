"""The requests of two sources, side by side: those of one sample, label and turn belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from promptpress._view.prompt_source import RequestBatch

__all__ = ["Pairs", "Unpaired", "paired"]


@dataclass(frozen=True)
class Pairs:
    """Requests that both sides have, row by row.

    Args:
        a: Those of one side.
        b: Those of the other, with the same samples, labels and turns.

    """

    a: RequestBatch
    b: RequestBatch


@dataclass(frozen=True)
class Unpaired:
    """A request that one side lacks.

    Args:
        sample: Its sample.
        label: Its label, if it has one.
        turn: Its turn, likewise.
        is_a: Whether the first side has it.

    """

    sample: int
    label: Any
    turn: int | None
    is_a: bool


@dataclass(frozen=True)
class _One:
    sample: int
    label: Any
    turn: int | None
    batch: RequestBatch
    row: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (None if self.label is None else str(self.label), self.turn)


def paired(a: Iterator[RequestBatch], b: Iterator[RequestBatch]) -> Iterator[Pairs | Unpaired]:
    """Put two streams of requests side by side.

    As long as both have the same requests, which is the rule, whole batches are compared with each other. From where
    they don't, each sample's requests are looked up by label and turn.

    Args:
        a: The requests of one side, by sample.
        b: Those of the other.

    Yields:
        What belongs together, and what one side lacks.

    """
    left, right = _Stream(a), _Stream(b)
    while True:
        rows = min(left.available(), right.available())
        if not rows:
            break
        mine, yours = left.peek(rows), right.peek(rows)
        if not _same_keys(mine, yours):
            break
        left.skip(rows)
        right.skip(rows)
        yield Pairs(*_of_one_count(mine, yours))
    yield from _looked_up(_by_sample(left), _by_sample(right))


class _Stream:
    """A stream of requests with a place in it."""

    def __init__(self, batches: Iterator[RequestBatch]) -> None:
        self._batches = batches
        self._batch: RequestBatch | None = None
        self._at = 0

    def available(self) -> int:
        """How many requests can be looked at; 0 at the end."""
        while self._batch is None or self._at == len(self._batch):
            self._batch, self._at = next(self._batches, None), 0
            if self._batch is None:
                return 0
        return len(self._batch) - self._at

    def peek(self, rows: int) -> RequestBatch:
        assert self._batch is not None
        return _slice(self._batch, self._at, rows)

    def skip(self, rows: int) -> None:
        self._at += rows


def _slice(batch: RequestBatch, start: int, rows: int) -> RequestBatch:
    if start == 0 and rows == len(batch):
        return batch
    labels = None if batch.labels is None else batch.labels.slice(start, rows)
    turns = None if batch.turns is None else batch.turns.slice(start, rows)
    samples, prompts = batch.samples.slice(start, rows), batch.prompts.slice(start, rows)
    return RequestBatch(samples, prompts, labels, turns, batch.numbering)


def _same_keys(one: RequestBatch, other: RequestBatch) -> bool:
    return (
        (_is_counted_beside(one, other) or one.samples.cast(pa.int64()).equals(other.samples.cast(pa.int64())))
        and _same(one.labels, other.labels)
        and _same(one.turns, other.turns)
    )


def _is_counted_beside(one: RequestBatch, other: RequestBatch) -> bool:
    """Whether a renderer knows the samples that turns only let count: of `"last"` turns say nothing of samples."""
    return {one.numbering, other.numbering} == {"own", "counted"}


def _of_one_count(one: RequestBatch, other: RequestBatch) -> tuple[RequestBatch, RequestBatch]:
    """Give requests that were counted the samples of the others, which are known."""
    if not _is_counted_beside(one, other):
        return one, other
    known = one.samples if one.numbering == "own" else other.samples
    return replace(one, samples=known), replace(other, samples=known)


def _same(one: pa.Array | None, other: pa.Array | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.type == other.type:
        return bool(one.equals(other))
    return [str(value) for value in one.to_pylist()] == [str(value) for value in other.to_pylist()]


def _by_sample(stream: _Stream) -> Iterator[list[_One]]:
    own: list[_One] = []
    while rows := stream.available():
        batch = stream.peek(rows)
        stream.skip(rows)
        none = [None] * rows
        labels = none if batch.labels is None else batch.labels.to_pylist()
        turns = none if batch.turns is None else batch.turns.to_pylist()
        for row, (sample, label, turn) in enumerate(zip(batch.samples.to_pylist(), labels, turns, strict=True)):
            if own and own[0].sample != sample:
                yield own
                own = []
            own.append(_One(sample, label, turn, batch, row))
    if own:
        yield own


def _looked_up(left: Iterator[list[_One]], right: Iterator[list[_One]]) -> Iterator[Pairs | Unpaired]:
    mine, yours = next(left, None), next(right, None)
    while mine is not None or yours is not None:
        if yours is None or (mine is not None and mine[0].sample < yours[0].sample):
            assert mine is not None
            yield from (_alone(one, is_a=True) for one in mine)
            mine = next(left, None)
        elif mine is None or yours[0].sample < mine[0].sample:
            yield from (_alone(one, is_a=False) for one in yours)
            yours = next(right, None)
        else:
            yield from _of_sample(mine, yours)
            mine, yours = next(left, None), next(right, None)


def _of_sample(mine: list[_One], yours: list[_One]) -> Iterator[Pairs | Unpaired]:
    waiting: dict[tuple[Any, ...], list[_One]] = {}
    for one in yours:
        waiting.setdefault(one.key, []).append(one)
    for one in mine:
        same = waiting.get(one.key)
        if same:
            other = same.pop(0)
            yield Pairs(_slice(one.batch, one.row, 1), _slice(other.batch, other.row, 1))
        else:
            yield _alone(one, is_a=True)
    for left in waiting.values():
        yield from (_alone(one, is_a=False) for one in left)


def _alone(one: _One, *, is_a: bool) -> Unpaired:
    return Unpaired(one.sample, one.label, one.turn, is_a)
