"""One case of the differential fuzz: prompts against the models, and the properties of what was rendered."""

from __future__ import annotations

from . import configurations, oracle, properties, shrink
from .configurations import Case
from .draw import Draw


def make(seed: int, number: int) -> Case:
    return configurations.case_of(Draw.of(seed, number))


def check(seed: int, number: int, case: Case) -> int:
    """Check a case; gives how many requests were compared."""
    got = oracle.check(case)
    if got is None:
        return 0
    properties.check(Draw.of(seed, number, "properties"), case, *got)
    return len(got[1])


def run(seed: int, number: int) -> int:
    return check(seed, number, make(seed, number))


smaller = shrink.shrunk
