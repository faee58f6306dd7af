"""One case of the differential fuzz: prompts against the models, and the properties of what was rendered."""

from __future__ import annotations

from . import chats, configurations, media, openicl, oracle, properties, real, shrink
from .configurations import Case
from .draw import Draw

OTHERS = (openicl.case_of, chats.case_of, media.case_of)


def ready() -> None:
    """Import what takes long before the first case's time begins."""
    real.classes()


def make(seed: int, number: int) -> Case:
    """Mostly OpenCompass, now and then one of the other harnesses."""
    draw = Draw.of(seed, number)
    make_one = configurations.case_of if draw.chance(1.5) else draw.pick(*OTHERS)
    return make_one(draw)


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
