"""How much a configuration file may ask for: steps, sizes, depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .values import is_stream

MAX_STEPS = 1_000_000
MAX_ITEMS = 1 << 27
MAX_TEXT_CHARS = 1 << 24
MAX_BITS = 1 << 12
MAX_KEY_VALUES = 1 << 12
MAX_READ_VALUES = 1 << 20
MAX_NESTED_STREAMS = 100
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
        self._depths: dict[int, int] = {}

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

    def keys(self, *values: object) -> None:
        """Check values that are hashed: Python walks a tuple each time, and one that it holds twice is walked twice.

        Args:
            values: what becomes an element of a set, or a key of a dict that is written or looked up.

        Raises:
            TooMuchError: when one holds too many values.

        Example:
            >>> Budget().keys(("a", ("b", 1)))

        """
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
        """Give values one by one, each checked as `keys` does.

        Args:
            values: elements of a set, or a dict's pairs.

        Yields:
            The values.

        """
        for value in values:
            self.keys(value)
            yield value

    def nested(self, stream: object, args: Iterable[object]) -> None:
        """Count how deep iterators lie in each other: reading the outermost one calls all, as freeing it does.

        Args:
            stream: the new iterator.
            args: what it reads from.

        Raises:
            TooMuchError: when it lies too deep.

        """
        depth = 1 + max((self._depths.get(id(arg), 0) for arg in args if is_stream(arg)), default=0)
        if depth > MAX_NESTED_STREAMS:
            raise TooMuchError(f"iterators of iterators, more than {MAX_NESTED_STREAMS} deep")
        # An iterator that is gone may have had this number; it has been counted anew since.
        self._depths[id(stream)] = depth

    def whole(self, names: Mapping[str, object]) -> None:
        """Check the size of what has been read: whoever copies it walks each value wherever it stands.

        Args:
            names: the values by name.

        Raises:
            TooMuchError: when there are too many.

        """
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
