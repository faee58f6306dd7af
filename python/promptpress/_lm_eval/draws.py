"""Which few-shot documents stand before each evaluated one: the samplers' draws, over row numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from random import Random

import pyarrow as pa

from promptpress import _core
from promptpress._lm_eval.row_numbers import as_sequence

__all__ = ["Groups", "draw", "first"]

_CHECKED = 3
"""Documents for which Python itself draws as well."""
_MAX_POOL = 2**31 - 1


@dataclass(frozen=True)
class Groups:
    """Which documents are equal: those of the pool, and evaluated ones, of the same group.

    Args:
        pool: The group of each document of the pool (int64); below 0 it is equal to none.
        documents: Those of the evaluated documents.

    """

    pool: pa.Array
    documents: pa.Array


def draw(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Draw shots for each document, in order, as the harness's default sampler does.

    The core draws what `random.sample` would; for the first documents that is looked at, and where it doesn't, as with
    a generator of another class, `random.sample` is asked for each document.

    Args:
        random: The task's generator. Its state goes on from document to document, and ends as the sampler would leave
            it.
        pool: How many documents there are to draw from.
        shots: How many are drawn for each; at least one.
        groups: The documents that must not see their equals of the pool; None: they may see all.
        count: How many documents there are.

    Returns:
        The rows (int32) drawn for the first document, then those for the second, and so on.

    Raises:
        ValueError: If the pool is too small.

    >>> draw(Random(1234), 5, 2, None, 2).to_pylist()
    [3, 0, 0, 4]

    """
    if type(random) is Random and pool <= _MAX_POOL:
        before = random.getstate()
        version, words, *others = before
        of_groups = None if groups is None else (groups.pool, groups.documents)
        rows, state = _core.drawn_rows(words, pool, shots, count, of_groups)
        checked = min(count, _CHECKED)
        own = list(chain.from_iterable(_one_by_one(random, pool, shots, groups, checked)))
        if own == rows.slice(0, checked * shots).to_pylist():
            random.setstate((version, tuple(state), *others))
            return rows
        random.setstate(before)
    return pa.array(list(chain.from_iterable(_one_by_one(random, pool, shots, groups, count))), pa.int32())


def _one_by_one(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> Iterator[list[int]]:
    if groups is None:
        yield from (random.sample(range(pool), shots) for _ in range(count))
        return
    equals = as_sequence(groups.pool)
    for document in as_sequence(groups.documents)[:count]:
        drawn = random.sample(range(pool), shots + 1)
        if document >= 0:
            drawn = [row for row in drawn if equals[row] != document]
        if len(drawn) < shots:
            # More than one copy of the document was drawn.
            drawn = random.sample([row for row in range(pool) if equals[row] != document], shots)
        yield drawn[:shots]


def first(pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Take the first shots of the pool for each document.

    Args:
        pool: How many documents there are.
        shots: How many are taken for each.
        groups: As `draw` takes them.
        count: How many documents there are.

    Returns:
        The rows (int32) taken for the first document, then those for the second, and so on.

    Raises:
        AssertionError: If the pool is too small.

    >>> first(5, 2, Groups(pa.array([7, 8, 9, 7, 1]), pa.array([7, -1])), 2).to_pylist()
    [1, 2, 0, 1]

    """
    try:
        if groups is not None:
            return _core.first_rows(shots, groups.pool, groups.documents)
        nobody = pa.array([-1], pa.int64())
        one = _core.first_rows(shots, _core.repeated_rows(0, min(pool, shots), 1), nobody)
    except ValueError as error:
        raise AssertionError(str(error)) from error  # as the harness raises
    return pa.concat_arrays([one] * count or [one.slice(0, 0)])
