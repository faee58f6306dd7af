"""Numbers of random cases: all of them beside the heavy tests, and a part of them in every other run."""

from __future__ import annotations

PART = 4
"""One in this many cases is tried where the heavy tests aren't."""

WITH_HEAVY = False
"""True in a run that has the tests marked `full`: set by tests/conftest.py before any test is imported."""


def part_of(cases: int) -> int:
    """Return how many of these cases to try in this run.

    >>> part_of(400) in (100, 400)
    True

    """
    return cases if WITH_HEAVY else max(1, cases // PART)
