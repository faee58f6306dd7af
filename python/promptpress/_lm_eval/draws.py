"""Which few-shot documents stand before each evaluated one: the samplers' draws, over row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

__all__ = ["draw", "first"]


def draw(random: Random, pool: int, shots: int, equal: Sequence[frozenset[int]] | None, count: int) -> list[list[int]]:
    """Draw shots for each document, in order, as the harness's default sampler does.

    Args:
        random: The task's generator; its state goes on from document to document.
        pool: How many documents there are to draw from.
        shots: How many are drawn for each; at least one.
        equal: For each document the rows of the pool that it must not see; None: it may see all.
        count: How many documents there are.

    Returns:
        For each document the rows drawn.

    Raises:
        ValueError: If the pool is too small.

    >>> draw(Random(1234), 5, 2, None, 2)
    [[3, 0], [0, 4]]

    """
    rows = range(pool)
    if equal is None:
        return [random.sample(rows, shots) for _ in range(count)]
    out = []
    for own in equal:
        drawn = [row for row in random.sample(rows, shots + 1) if row not in own][:shots]
        if len(drawn) < shots:
            # More than one copy of the document was drawn.
            drawn = random.sample([row for row in rows if row not in own], shots)
        out.append(drawn)
    return out


def first(pool: int, shots: int, equal: Sequence[frozenset[int]] | None, count: int) -> list[Sequence[int]]:
    """Take the first shots of the pool for each document.

    Args:
        pool: How many documents there are.
        shots: How many are taken for each.
        equal: For each document the rows of the pool that it must not see; None: it may see all.
        count: How many documents there are.

    Returns:
        For each document the rows taken.

    Raises:
        AssertionError: If the pool is too small.

    >>> first(5, 2, [frozenset([0, 3]), frozenset()], 2)
    [[1, 2], [0, 1]]

    """
    if equal is None:
        return [_first(range(pool), shots)] * count
    return [_first([row for row in range(min(pool, shots + len(own))) if row not in own], shots) for own in equal]


def _first(rows: Sequence[int], shots: int) -> Sequence[int]:
    if len(rows) < shots:
        message = f"{shots} shots are asked for, and there are {len(rows)}"
        raise AssertionError(message)
    return rows[:shots]
