"""Cargo's requirements of versions: `>= 1.2, < 2`, `^0.3`, `~1.2.3`, `1.4`."""

from __future__ import annotations

import re

COMPARATOR = re.compile(r"(>=|<=|>|<|=|\^|~)?\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([\w.-]+))?(?:\+[\w.-]+)?$")


def key(version: str) -> tuple[tuple[int, ...], bool, str]:
    """What versions are ordered by: an early one stands before the one that it is early for."""
    number, _, early = version.partition("+")[0].partition("-")
    return tuple(int(part) for part in number.split(".")), not early, early


def matches(requirement: str, version: str) -> bool:
    """Whether a version meets all of a requirement's comparators."""
    return all(meets(one.strip(), version) for one in requirement.split(","))


def meets(comparator: str, version: str) -> bool:
    """Whether a version meets one comparator."""
    if comparator == "*":
        return True
    match = COMPARATOR.match(comparator)
    if match is None:
        raise ValueError(f"{comparator!r} is no requirement of a version")
    sign, early = match[1] or "^", match[5]
    parts = [int(part) for part in match.group(2, 3, 4) if part is not None]
    low = (tuple(parts + [0] * (3 - len(parts))), not early, early or "")
    own = key(version)
    if sign == "=":
        return own[0][: len(parts)] == tuple(parts) and (not early or own == low)
    if sign in ("^", "~"):
        return low <= own < (bound(parts, caret=sign == "^"), False, "")
    return {">=": own >= low, "<=": own <= low, ">": own > low, "<": own < low}[sign]


def bound(parts: list[int], *, caret: bool) -> tuple[int, ...]:
    """The first version that is another one: of the first part that isn't 0, or of the one before the last."""
    place = next((n for n, part in enumerate(parts) if part), len(parts) - 1) if caret else min(1, len(parts) - 1)
    return (*parts[:place], parts[place] + 1, *[0] * (2 - place))
