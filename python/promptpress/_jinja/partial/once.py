"""Generators: they can be gone through once, whichever way a row takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from promptpress._jinja.partial.values import Opaque

if TYPE_CHECKING:
    from promptpress._jinja.partial.operands import Operands

__all__ = ["InOrder", "Once", "taken"]

MAX_VALUES = 200_000


def taken(values: Any, machine: Operands) -> list[Any]:
    """What a generator gives, but no more than is worth compiling.

    Args:
        values: The generator.
        machine: Where the evaluation stands.

    Returns:
        Its values.

    Raises:
        UnsupportedError: If there are too many.

    """
    out: list[Any] = []
    for value in values:
        if len(out) >= MAX_VALUES:
            raise machine.unsupported(f"a generator of more than {MAX_VALUES:,} values")
        out.append(value)
    return out


class Once:
    """What a generator is: it can be gone through once. How far it is belongs to the state, for the ways of a fork.

    Args:
        machine: Whose state it is.
        items: What it gives.

    """

    def __init__(self, machine: Operands, items: list[Any]) -> None:
        self._machine = machine
        self._items = items
        self._key = ("once", id(self), self)

    def __iter__(self) -> Once:
        return self

    def __next__(self) -> Any:
        state = self._machine.state
        at = state.get(self._key, 0)
        if type(at) is not int:
            raise self._machine.unsupported("it is decided by the row how much of a generator is used")
        if at >= len(self._items):
            raise StopIteration
        state[self._key] = at + 1
        return self._items[at]

    __str__ = __repr__ = Opaque.__repr__


class InOrder:
    """A generator whose values are made when they are asked for, and so for one way of a fork only.

    Args:
        machine: Where the evaluation stands.
        values: The generator.

    """

    def __init__(self, machine: Operands, values: Iterator[Any]) -> None:
        self._machine = machine
        self._values = values
        self._key = ("in order", id(self), self)
        self._asked = 0

    def __iter__(self) -> InOrder:
        return self

    def __next__(self) -> Any:
        state = self._machine.state
        if state.get(self._key, 0) != self._asked:
            raise self._machine.unsupported("a loop with a condition goes on where a value of the row decides how far")
        self._asked += 1
        state[self._key] = self._asked
        return next(self._values)

    __str__ = __repr__ = Opaque.__repr__
