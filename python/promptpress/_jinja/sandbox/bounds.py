"""The limits of one rendering: work is counted in steps, so the limits don't depend on the machine or its load.

A loop's turn, a macro's call and a filter cost as many steps as they have nodes; a text costs one step for each sixteen
characters that are made or read. The size of a row's values is added to the limits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from types import GeneratorType
from typing import Any

from jinja2.utils import Namespace

STEPS = 3_000_000
COMPILE_STEPS = 300_000
MAX_TEXT = 1 << 24
MAX_INT_BITS = 1 << 16

_CHARACTERS_PER_STEP = 16
_STEPS_PER_INPUT = 16
_TEXT_PER_INPUT = 64
_COST_OF_NODE = 16
_FEW_BITS = 256
_ESCAPED = 2

_SCALARS = frozenset({float, bool, type(None)})
_SEQUENCES: tuple[type, ...] = (list, tuple, set, frozenset, type({}.keys()), type({}.values()), type({}.items()))


class LimitExceededError(Exception):
    """A template does more than any useful template."""


WEIGHTLESS: set[type] = set()
"""Types of values of a row that isn't known yet, which refuse every inspection."""


class _Budget(threading.local):
    """The rest of the budget for the rendering in this thread."""

    left: int = STEPS
    text: int = MAX_TEXT
    names: Mapping[str, Any] | None = None

    def start(self, names: Mapping[str, Any] | None = None, steps: int = STEPS) -> None:
        """Begin a rendering, or other work that runs a template's code.

        Args:
            names: The row's values; when the budget is used up, it is extended by their size.
            steps: The budget without them.
        """
        self.left, self.text, self.names = steps, MAX_TEXT, names

    def extend(self) -> bool:
        """Extend the budget by the size of the row's values; return false if that was done before."""
        if self.names is None:
            return False
        names, self.names = self.names, None
        size = _size_of(names)
        self.left += size * _STEPS_PER_INPUT
        self.text += size * _TEXT_PER_INPUT
        return True


BUDGET = _Budget()


def charge(steps: int) -> bool:
    """Count steps that are about to be done; return true, for use in conditions.

    Raises:
        LimitExceededError: If the rendering has done too much.
    """
    BUDGET.left = left = BUDGET.left - steps
    if left < 0 and not (BUDGET.extend() and BUDGET.left >= 0):
        message = f"limit exceeded: it takes more than {STEPS:,} steps beyond what the size of its values allows"
        raise LimitExceededError(message)
    return True


def charge_text(size: int) -> None:
    """Count a text that is about to be made.

    Args:
        size: The largest possible number of characters.

    Raises:
        LimitExceededError: If the text is too long, or the rendering has done too much.
    """
    if size > BUDGET.text and not (BUDGET.extend() and size <= BUDGET.text):
        refuse(f"a text of {size:,} characters, and at most {BUDGET.text:,} are allowed")
    charge(size // _CHARACTERS_PER_STEP)


def refuse(what: str) -> None:
    """Raise the error for a value that is too large."""
    message = f"limit exceeded: {what}"
    raise LimitExceededError(message)


def weigh(value: Any) -> int:
    """Return the approximate number of characters of a value's text, and charge for looking at all parts.

    If a list contains another one twice, that counts twice, as it does for text, comparison and hash. A value without
    parts counts as 1.

    Raises:
        LimitExceededError: If the rendering has done too much.
        RecursionError: As for the text of a value that is nested very deep.
    """
    kind = type(value)
    if kind is str:
        return len(value)
    if kind in _SCALARS:
        return 1
    return _digits(value) if kind is int else _weigh(value, set())


def _weigh(value: Any, path: set[int]) -> int:
    if type(value) in WEIGHTLESS or isinstance(value, (str, bytes)):
        return 1 if type(value) in WEIGHTLESS else len(value)
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, dict):
        parts: tuple[Any, ...] = (value, value.values())
    elif isinstance(value, _SEQUENCES):
        parts = (value,)
    elif isinstance(value, Namespace):
        parts = (object.__getattribute__(value, "_Namespace__attrs").values(),)
    else:
        return 1
    if id(value) in path:
        return 1
    charge(_COST_OF_NODE + len(parts[0]))
    path.add(id(value))
    total = 2
    for part in parts:
        for item in part:
            kind = type(item)
            if kind is str:
                total += _ESCAPED * len(item) + 4
            elif kind in _SCALARS:
                total += 8
            else:
                total += 2 + _weigh(item, path)
    path.discard(id(value))
    return total


def _digits(number: int) -> int:
    bits = number.bit_length()
    if bits > _FEW_BITS:
        # Python computes digits one after the other.
        charge(bits * bits >> 14)
    return 1 + bits // 3


def counted(value: Any) -> Any:
    """Return a value; for a generator, return one that counts its items."""
    return _counting(value) if type(value) is GeneratorType else value


def _counting(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        charge(4)
        yield item


def _size_of(names: Mapping[str, Any]) -> int:
    """Return the approximate size of a row; its values come from Arrow, so each part occurs once."""
    total, stack = 0, list(names.values())
    while stack:
        value = stack.pop()
        if isinstance(value, (str, bytes)):
            total += 1 + len(value) // _CHARACTERS_PER_STEP
        elif isinstance(value, dict):
            total += 16
            stack.extend(value.values())
        elif isinstance(value, (list, tuple)):
            total += 16
            stack.extend(value)
        else:
            total += 16
    return total
