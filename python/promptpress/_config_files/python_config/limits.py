"""How much a configuration file may ask for: steps, sizes, depth."""

from __future__ import annotations

from typing import Any

MAX_STEPS = 1_000_000
MAX_ITEMS = 1 << 27
MAX_TEXT_CHARS = 1 << 24
MAX_BITS = 1 << 12
VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_WALKED: tuple[Any, ...] = (list, tuple, set, frozenset, *VIEWS)
SLOT_CHARS = 16  # a slot of a list costs as much as so many characters


class TooMuchError(Exception):
    """A file asks for more than any configuration needs."""


class Budget:
    """Counts what reading a file, and the files that it builds on, has cost so far.

    Without it `'x' * 10**12` or a list that doubles forty times would take the machine down.

    Example:
        >>> budget = Budget()
        >>> budget.text(12)
        >>> budget.text(1 << 40)
        Traceback (most recent call last):
        ...
        promptpress._config_files.python_config.limits.TooMuchError: a string of 1099511627776 characters

    """

    def __init__(self) -> None:
        self._steps = 0
        self._items = 0

    def step(self) -> None:
        """Count one expression or statement.

        Raises:
            TooMuchError: when the file has used up its steps.

        """
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooMuchError(f"more than {MAX_STEPS:,} steps")

    def items(self, count: int) -> None:
        """Count what comes into being, in characters; a slot of a list is `SLOT_CHARS` of them.

        Args:
            count: how many.

        Raises:
            TooMuchError: when everything together is too large.

        """
        self._items += count
        if self._items > MAX_ITEMS:
            raise TooMuchError("too much data")

    def text(self, length: int) -> None:
        """Count a new string, before it is made.

        Args:
            length: its number of characters, or an upper bound.

        Raises:
            TooMuchError: when it, or everything together, is too large.

        """
        if length > MAX_TEXT_CHARS:
            raise TooMuchError(f"a string of {length} characters")
        self.items(length)

    def bits(self, count: int) -> None:
        """Check the size of an integer before it is made.

        Args:
            count: its number of bits, or an upper bound.

        Raises:
            TooMuchError: when it is too large.

        """
        if count > MAX_BITS:
            raise TooMuchError(f"an integer of {count} bits")

    def deep(self, *values: object) -> None:
        """Count everything inside values, before something walks all of it (`==`, `str`, `sorted`).

        A list that holds itself twice, forty levels deep, is small in memory and endless to walk.

        Args:
            values: what will be walked.

        Raises:
            TooMuchError: when the walk is too long.

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
            elif isinstance(value, _WALKED):
                self.items(SLOT_CHARS * (len(value) + 1))
                todo.extend(value)
