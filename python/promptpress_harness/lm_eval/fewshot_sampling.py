"""Choice of few-shot documents for each evaluated document: the harness's samplers, over row numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from random import Random

import pyarrow as pa
from promptpress.engine import core as _core

from promptpress_harness.lm_eval.row_numbers import as_sequence

_CHECKED = 3
"""Number of documents for which `random.sample` draws as well, to check the core."""
_MAX_POOL = 2**31 - 1


@dataclass(frozen=True)
class Groups:
    """The group (int64) of each document of the pool and of each evaluated document.

    Documents of the same group are equal. A document with a number below 0 equals none.
    """

    pool: pa.Array
    documents: pa.Array


def draw(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Draw shots for each document, in order, as the harness's default sampler does.

    The core draws what `random.sample` would. The draws of the first documents are compared. If they differ, or if the
    generator is of another class, `random.sample` draws for each document.

    Args:
        random: The task's generator. It is left in the state in which the sampler would leave it.
        pool: Number of documents to draw from.
        shots: Number of documents drawn for each document; at least one.
        groups: Keeps documents of the pool from evaluated documents that equal them. None if all may be drawn.
        count: Number of evaluated documents.

    Returns:
        The rows (int32) drawn for the first document, then those for the second, and so on.

    Raises:
        ValueError: If the pool is too small.

    >>> draw(Random(1234), 5, 2, None, 2).to_pylist()
    [3, 0, 0, 4]
    """
    if type(random) is Random and pool <= _MAX_POOL:
        initial_state = random.getstate()
        version, words, *others = initial_state
        group_arrays = None if groups is None else (groups.pool, groups.documents)
        rows, state = _core.drawn_rows(words, pool, shots, count, group_arrays)
        checked = min(count, _CHECKED)
        expected = list(chain.from_iterable(_sample_each(random, pool, shots, groups, checked)))
        if expected == rows.slice(0, checked * shots).to_pylist():
            random.setstate((version, tuple(state), *others))
            return rows
        random.setstate(initial_state)
    return pa.array(list(chain.from_iterable(_sample_each(random, pool, shots, groups, count))), pa.int32())


def _sample_each(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> Iterator[list[int]]:
    if groups is None:
        yield from (random.sample(range(pool), shots) for _ in range(count))
        return
    pool_groups = as_sequence(groups.pool)
    for group in as_sequence(groups.documents)[:count]:
        drawn = random.sample(range(pool), shots + 1)
        if group >= 0:
            drawn = [row for row in drawn if pool_groups[row] != group]
        if len(drawn) < shots:
            # More than one copy of the document was drawn.
            drawn = random.sample([row for row in range(pool) if pool_groups[row] != group], shots)
        yield drawn[:shots]


def draw_once(random: Random, pool: int, shots: int, groups: Groups, count: int) -> pa.Array:
    """Draw shots for each document as the sampler of the harness's version 0.5 does, which never draws again.

    The arguments are those of `draw`.

    Raises:
        ValueError: If the pool is too small.
        AssertionError: If a document of which the pool has several copies was drawn so often that shots are lacking.
    """
    drawn = as_sequence(draw(random, pool, shots + 1, None, count))
    pool_groups = as_sequence(groups.pool)
    rows: list[int] = []
    for number, group in enumerate(as_sequence(groups.documents)[:count]):
        document_rows = drawn[number * (shots + 1) : (number + 1) * (shots + 1)]
        kept = [row for row in document_rows if group < 0 or pool_groups[row] != group][:shots]
        if len(kept) < shots:
            message = f"{len(kept)} other few-shot documents than the document were drawn; {shots} are needed"
            raise AssertionError(message)
        rows += kept
    return pa.array(rows, pa.int32())


def first_n(pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Return the first shots of the pool for each document, as the sampler `first_n` does; see `draw`.

    Raises:
        AssertionError: If the pool is too small.
    """
    try:
        if groups is not None:
            return _core.first_rows(shots, groups.pool, groups.documents)
        unequal = pa.array([-1], pa.int64())
        rows = _core.first_rows(shots, _core.repeated_rows(0, min(pool, shots), 1), unequal)
    except ValueError as error:
        raise AssertionError(str(error)) from error  # as the harness raises
    return pa.concat_arrays([rows] * count or [rows.slice(0, 0)])
