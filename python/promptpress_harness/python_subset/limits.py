"""Limits on a configuration file: its steps, sizes and depths, and results that differ between runs of Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptpress_harness.python_subset.values import Opaque, is_stream

MAX_STEPS = 1_000_000
MAX_ITEMS = 1 << 27
MAX_TEXT_CHARS = 1 << 24
MAX_BITS = 1 << 12
MAX_KEY_VALUES = 1 << 12
MAX_READ_VALUES = 1 << 20
MAX_NESTED_STREAMS = 100
VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
WALKED: tuple[Any, ...] = (list, tuple, set, frozenset, *VIEWS)
SLOT_CHARS = 16  # the cost of a slot of a list, in characters
_TEXTS = (type(None), bool, int, float, complex, str, bytes, type(...), range, Opaque)


class TooMuchError(Exception):
    """Raised if a file needs more than any configuration should."""


class Budget:
    """A counter of the cost of reading a file and its base files.

    Without it, `'x' * 10**12` or a list that doubles forty times would exhaust the memory.

    >>> budget = Budget()
    >>> budget.text(12)
    >>> budget.text(1 << 40)
    Traceback (most recent call last):
    ...
    promptpress_harness.python_subset.limits.TooMuchError: a string of 1099511627776 characters

    """

    def __init__(self) -> None:
        self._steps = 0
        self._items = 0
        self._depths: dict[int, int] = {}

    def step(self) -> None:
        """Count one expression or statement."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooMuchError(f"more than {MAX_STEPS:,} steps")

    def items(self, count: int) -> None:
        """Count new data in characters; a slot of a list counts as `SLOT_CHARS` of them."""
        self._items += count
        if self._items > MAX_ITEMS:
            raise TooMuchError("too much data")

    def text(self, length: int) -> None:
        """Count a new string of at most this length, before it is made."""
        if length > MAX_TEXT_CHARS:
            raise TooMuchError(f"a string of {length} characters")
        self.items(length)

    def bits(self, count: int) -> None:
        """Check the largest possible size of an integer before it is made."""
        if count > MAX_BITS:
            raise TooMuchError(f"an integer of {count} bits")

    def keys(self, *values: object) -> None:
        """Check values that Python will hash: it walks a tuple twice that stands twice in another one."""
        for value in values:
            todo, seen = [value], 0
            while todo:
                part = todo.pop()
                if isinstance(part, (tuple, frozenset)):
                    seen += len(part) + 1
                    if seen > MAX_KEY_VALUES:
                        raise TooMuchError(f"a key of more than {MAX_KEY_VALUES:,} values")
                    todo.extend(part)

    def checked_keys(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield values, each checked as `keys` does."""
        for value in values:
            self.keys(value)
            yield value

    def nested(self, stream: object, args: Iterable[object]) -> None:
        """Count the nesting of an iterator in others, `args`: reading or freeing the outermost calls all."""
        depth = 1 + max((self._depths.get(id(arg), 0) for arg in args if is_stream(arg)), default=0)
        if depth > MAX_NESTED_STREAMS:
            raise TooMuchError(f"iterators of iterators, more than {MAX_NESTED_STREAMS} deep")
        # This replaces the depth of a freed iterator that had the same id.
        self._depths[id(stream)] = depth

    def whole(self, names: Mapping[str, object]) -> None:
        """Check the number of values in all names; a copy walks a value in each place where it occurs."""
        todo, seen = list(names.values()), 0
        while todo:
            value = todo.pop()
            if isinstance(value, (dict, list, tuple, set, frozenset)):
                seen += len(value) + 1
                if seen > MAX_READ_VALUES:
                    raise TooMuchError(f"more than {MAX_READ_VALUES:,} values, each counted wherever it stands")
                todo.extend(dict.values(value) if isinstance(value, dict) else value)

    def deep(self, *values: object) -> None:
        """Count everything inside values, before something walks all of it (`==`, `str`, `sorted`).

        A list that contains another list twice, forty levels deep, is small in memory and takes for ever to walk.
        """
        todo: list[Any] = list(values)
        while todo:
            value = todo.pop()
            if isinstance(value, str):
                self.items(len(value))
            elif isinstance(value, dict):
                self.items(SLOT_CHARS * (len(value) + 1))
                todo.extend(value)
                todo.extend(dict.values(value))
            elif isinstance(value, WALKED):
                self.items(SLOT_CHARS * (len(value) + 1))
                todo.extend(value)


class UnsettledError(Exception):
    """Raised for a result that may differ between runs, or that isn't computed here."""


def settled_order(*values: object) -> None:
    """Raise an UnsettledError for a set of two or more elements, whose order may differ."""
    for value in values:
        if isinstance(value, (set, frozenset)) and len(value) > 1:
            raise UnsettledError("the order of a set's elements isn't the same in every run")


def settled_extreme(values: object) -> None:
    """Raise an UnsettledError for a set that may have several sorted orders: any but of strings or of integers."""
    if isinstance(values, (set, frozenset)):
        alike = all(isinstance(v, str) for v in values) or all(isinstance(v, int) for v in values)
        if not alike:
            settled_order(values)


def settled_text(*values: object) -> None:
    """Raise an UnsettledError for values whose text may differ: sets of two or more elements, objects without a `repr`.

    The caller limits the walk with `Budget.deep`.

    >>> settled_text([1, {"a": None}])

    """
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(value)
            todo.extend(dict.values(value))
        elif isinstance(value, WALKED):
            settled_order(value)
            todo.extend(value)
        elif isinstance(value, slice):
            todo += [value.start, value.stop, value.step]
        elif not isinstance(value, _TEXTS):
            raise UnsettledError(f"the text of a {type(value).__name__} isn't the same in every run")


def settled_identity(left: object, right: object) -> None:
    """Raise an UnsettledError if `is` depends on whether Python keeps equal constants as one object."""
    sides = (left, right)
    if not any(side is None or isinstance(side, bool) or side is ... for side in sides) and all(
        isinstance(side, (*_TEXTS, tuple, frozenset)) for side in sides
    ):
        raise UnsettledError("the identity of constants depends on Python's version")
