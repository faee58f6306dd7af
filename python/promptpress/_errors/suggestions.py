"""Suggestions for misspelt names, used by the error messages of all rooms."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def close_names(name: str, names: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return at most `count` names that resemble a misspelt one, the closest first."""
    return difflib.get_close_matches(name, names, count, cutoff)


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.75) -> str:
    """Return the end of an error message that suggests the closest valid name, or an empty string."""
    return "".join(f"; did you mean {close!r}?" for close in close_names(name, names, cutoff=cutoff))
