"""How much one rendering may do: counted, so that it is the same limit on every machine and at every load.

A loop's turn, a macro's call and a filter cost as many steps as they have nodes; a text costs one step for each sixteen
characters that are made or read. What a row brings in is added to what it may cost.
"""

from __future__ import annotations

import threading
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from jinja2.utils import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "BUDGET",
    "MAX_INT_BITS",
    "WEIGHTLESS",
    "LimitExceededError",
    "charge",
    "charge_text",
    "counted",
    "refuse",
    "weigh",
]

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
    """A template does more than any that is meant to be rendered."""


WEIGHTLESS: set[type] = set()
"""Types of values that stand for a row's, and may be asked for nothing."""


class _Budget(threading.local):
    """What is left to the rendering that runs in this thread."""

    left: int = STEPS
    text: int = MAX_TEXT
    names: Mapping[str, Any] | None = None

    def start(self, names: Mapping[str, Any] | None = None, steps: int = STEPS) -> None:
        """Begin a rendering, or what else runs a template's code.

        Args:
            names: The row's values; what they hold is added to what the rendering may cost, once it needs that.
            steps: What it may cost without them.

        """
        self.left, self.text, self.names = steps, MAX_TEXT, names

    def extend(self) -> bool:
        """Add what the row's values are worth; whether there was anything to add."""
        if self.names is None:
            return False
        names, self.names = self.names, None
        size = _size_of(names)
        self.left += size * _STEPS_PER_INPUT
        self.text += size * _TEXT_PER_INPUT
        return True


BUDGET = _Budget()


def charge(steps: int) -> bool:
    """Count what is about to be done.

    Args:
        steps: What it costs.

    Returns:
        True: it may stand in a condition.

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
        size: How many characters it has at most.

    Raises:
        LimitExceededError: If it is too long, or the rendering has done too much.

    """
    if size > BUDGET.text and not (BUDGET.extend() and size <= BUDGET.text):
        refuse(f"a text of {size:,} characters, and at most {BUDGET.text:,} are allowed")
    charge(size // _CHARACTERS_PER_STEP)


def refuse(found: str) -> None:
    """Raise the error for something that is too large.

    Args:
        found: What it is, and what is allowed.

    Raises:
        LimitExceededError: Always.

    """
    message = f"limit exceeded: {found}"
    raise LimitExceededError(message)


def weigh(value: Any) -> int:
    """Return about how many characters a value's text has, and charge for looking at all of it.

    A list that holds another one twice counts it twice, as text, comparison and hash do.

    Args:
        value: Any.

    Returns:
        The number of characters; 1 for what has no parts.

    Raises:
        LimitExceededError: If the rendering has done too much.
        RecursionError: As the text of something that is nested so deeply.

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
        # Digits are found one after the other.
        charge(bits * bits >> 14)
    return 1 + bits // 3


def counted(value: Any) -> Any:
    """Return a value; of a generator, one whose items are counted.

    Args:
        value: What something is going to read at once.

    Returns:
        The value, or a generator of the same items.

    """
    return _counting(value) if type(value) is GeneratorType else value


def _counting(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        charge(4)
        yield item


def _size_of(names: Mapping[str, Any]) -> int:
    """About how large a row is; as a tree it is what Arrow gave, so each part is there once."""
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
