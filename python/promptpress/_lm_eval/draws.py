"""Which few-shot documents stand before each evaluated one: the samplers' draws, over row numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import ceil, log
from operator import length_hint
from random import Random

__all__ = ["draw", "first"]

_CHUNK = 1 << 14
"""Words that are asked of the generator at a time."""


def draw(random: Random, pool: int, shots: int, equal: Sequence[frozenset[int]] | None, count: int) -> array[int]:
    """Draw shots for each document, in order, as the harness's default sampler does.

    Args:
        random: The task's generator. Its state goes on from document to document, and ends as the sampler would leave
            it.
        pool: How many documents there are to draw from.
        shots: How many are drawn for each; at least one.
        equal: For each document the rows of the pool that it must not see; None: it may see all.
        count: How many documents there are.

    Returns:
        The rows drawn for the first document, then those for the second, and so on.

    Raises:
        ValueError: If the pool is too small.

    >>> draw(Random(1234), 5, 2, None, 2).tolist()
    [3, 0, 0, 4]

    """
    out: list[int] = []
    if equal is None:
        samples = _Samples(random, pool, shots)
        for drawn in islice(samples.drawn, count):
            out.extend(drawn)
        samples.close()
        return array("i", out)
    samples = _Samples(random, pool, shots + 1)
    for own in equal:
        drawn = next(samples.drawn)
        if own.isdisjoint(drawn):
            out.extend(drawn[:shots])
            continue
        others = [row for row in drawn if row not in own][:shots]
        if len(others) < shots:
            # More than one copy of the document was drawn.
            samples.close()
            others = random.sample([row for row in range(pool) if row not in own], shots)
            samples = _Samples(random, pool, shots + 1)
        out.extend(others)
    samples.close()
    return array("i", out)


def first(pool: int, shots: int, equal: Sequence[frozenset[int]] | None, count: int) -> array[int]:
    """Take the first shots of the pool for each document.

    Args:
        pool: How many documents there are.
        shots: How many are taken for each.
        equal: For each document the rows of the pool that it must not see; None: it may see all.
        count: How many documents there are.

    Returns:
        The rows taken for the first document, then those for the second, and so on.

    Raises:
        AssertionError: If the pool is too small.

    >>> first(5, 2, [frozenset([0, 3]), frozenset()], 2).tolist()
    [1, 2, 0, 1]

    """
    rows = range(pool)
    if equal is None:
        return array("i", _first(rows, shots) if count else []) * count
    out = array("i")
    for own in equal:
        out.extend(_first([row for row in rows[: shots + len(own)] if row not in own] if own else rows, shots))
    return out


def _first(rows: Sequence[int], shots: int) -> Sequence[int]:
    if len(rows) < shots:
        message = f"{shots} shots are asked for, and there are {len(rows)}"
        raise AssertionError(message)
    return rows[:shots]


class _Samples:
    """`random.sample(range(n), k)`, over and over, by a generator's words taken many at a time.

    `random.sample` spends most of its time on asking for one word after the other. What it makes of them hasn't changed
    since Python 3.2, and is compared with it where this is tested.

    Raises:
        ValueError: If there aren't k numbers.

    """

    def __init__(self, random: Random, n: int, k: int) -> None:
        if k > n:
            raise ValueError(f"{k} documents are to be drawn, and there are {n}")
        self._random = random
        self._state = random.getstate()
        self._before = 0
        self._words: list[int] = []
        self._rest: Iterator[int] = iter(())
        set_size = 21 + (4 ** ceil(log(k * 3, 4)) if k > 5 else 0)
        self._limit = n if n > set_size else None
        self.drawn: Iterator[Sequence[int]] = self._by_set(n, k) if n > set_size else self._by_pool(n, k)
        """The samples, without end."""

    def close(self) -> None:
        """Leave the generator as if each word had been asked for when it was needed."""
        left = length_hint(self._rest)
        used = len(self._words)
        if self._limit is None:
            used -= left
        elif self._words:
            # Of the accepted words the last one that was used is the last that was asked for.
            accepted = [at for at, word in enumerate(self._words) if word < self._limit]
            used = accepted[-left - 1] + 1 if left < len(accepted) else 0
        self._random.setstate(self._state)
        if used := used + self._before:
            self._random.getrandbits(32 * used)

    def _chunks(self, shift: int = 0) -> Iterator[list[int]]:
        """Yield words without their last bits."""
        size = 64
        while True:
            self._before += len(self._words)
            # The first word is the least significant one.
            words = memoryview(self._random.getrandbits(32 * size).to_bytes(4 * size, "little")).cast("I").tolist()
            self._words = [word >> shift for word in words] if shift else words
            yield self._words
            size = min(4 * size, _CHUNK)

    def _by_set(self, n: int, k: int) -> Iterator[Sequence[int]]:
        below = chain.from_iterable(self._accepted(n))
        for drawn in zip(*[below] * k, strict=False):
            if len(set(drawn)) == k:
                yield drawn
                continue
            distinct = dict.fromkeys(drawn)
            while len(distinct) < k:
                distinct[next(below)] = None
            yield list(distinct)

    def _accepted(self, n: int) -> Iterator[Iterator[int]]:
        for words in self._chunks(32 - n.bit_length()):
            self._rest = iter([word for word in words if word < n])
            yield self._rest

    def _by_pool(self, n: int, k: int) -> Iterator[Sequence[int]]:
        word = chain.from_iterable(self._all()).__next__
        numbers = list(range(n))
        steps = [(left, 32 - left.bit_length()) for left in range(n, n - k, -1)]
        while True:
            pool = numbers.copy()
            drawn = []
            for left, shift in steps:
                at = word() >> shift
                while at >= left:
                    at = word() >> shift
                drawn.append(pool[at])
                pool[at] = pool[left - 1]
            yield drawn

    def _all(self) -> Iterator[Iterator[int]]:
        for words in self._chunks():
            self._rest = iter(words)
            yield self._rest
