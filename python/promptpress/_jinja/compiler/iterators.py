"""Iterators of an evaluation: generators, filtered items, and the `loop` of a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

from jinja2 import runtime
from jinja2.utils import missing

from promptpress._jinja.compiler.steps import Operations, Steps
from promptpress._jinja.compiler.values import Opaque, UnsupportedError

MAX_VALUES = 200_000


def generated_values(values: Any, machine: Operations) -> list[Any]:
    """Return the values of a generator.

    Raises:
        UnsupportedError: If there are too many to be worth compiling.
    """
    out: list[Any] = []
    for value in values:
        if len(out) >= MAX_VALUES:
            raise machine.unsupported(f"a generator of more than {MAX_VALUES:,} values")
        out.append(value)
    return out


class Once:
    """The values of a generator, which can be consumed once. The state holds the position, for the ways of a fork."""

    def __init__(self, machine: Operations, items: list[Any]) -> None:
        self._machine = machine
        self._items = items
        self._key = ("once", id(self), self)

    def __iter__(self) -> Once:
        return self

    def __next__(self) -> Any:
        state = self._machine.state
        index = state.get(self._key, 0)
        if type(index) is not int:
            raise self._machine.unsupported("it is decided by the row how much of a generator is used")
        if index >= len(self._items):
            raise StopIteration
        state[self._key] = index + 1
        return self._items[index]

    __str__ = __repr__ = Opaque.__repr__


class InOrder:
    """A generator whose values are made when they are needed, and so for one way of a fork only."""

    def __init__(self, machine: Operations, values: Iterator[Any]) -> None:
        self._machine = machine
        self._values = values
        self._key = ("in order", id(self), self)
        self._count = 0

    def __iter__(self) -> InOrder:
        return self

    def __next__(self) -> Any:
        state = self._machine.state
        if state.get(self._key, 0) != self._count:
            raise self._machine.unsupported("a loop with a condition goes on where a value of the row decides how far")
        self._count += 1
        state[self._key] = self._count
        return next(self._values)

    __str__ = __repr__ = Opaque.__repr__


class LoopContext(runtime.LoopContext):
    """Jinja's `loop`, which refuses to advance or to look ahead if a value of the row decides about it.

    Its state is an object's, so no way of a fork can undo a change. Looking ahead in a list has no visible effect; from
    a generator it takes a value, which is recorded in the state of the way and also in the loop. If the way bails, the
    state would be undone, and the loop would not.
    """

    def __init__(self, machine: Steps, iterable: Iterable[Any], undefined: Any) -> None:
        super().__init__(iterable, undefined)
        self._machine = machine
        self._forks = machine.forks

    def _refused(self) -> UnsupportedError | None:
        """Return the error if a value of the row decides whether this happens."""
        if self._machine.forks == self._forks:
            return None
        return self._machine.unsupported("how far a loop goes is decided by a value of the row")

    @property
    def length(self) -> int:
        """The number of items."""
        if self._length is None and not isinstance(self._iterable, Sized) and (refusal := self._refused()):
            raise refusal
        return super().length

    def _peek_next(self) -> Any:
        if self._after is not missing or isinstance(self._iterable, Sized):
            return super()._peek_next()
        ahead = super()._peek_next()
        if ahead is not missing and (refusal := self._refused()):
            self._after = missing  # as the way takes back what the generator gave
            raise refusal
        return ahead

    def __next__(self) -> tuple[Any, runtime.LoopContext]:
        if refusal := self._refused():
            raise refusal
        return super().__next__()
