"""Values during an evaluation: known ones, and values of rows to come.

A value of the row isn't known yet, so it is opaque: if code of Python's or Jinja's inspects it (its text, its truth,
its equality, its class), the code gets an exception, and the inspection is counted even if the code swallows the
exception. So no operation without support for such values can go on with one and be wrong.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NoReturn, final

from promptpress._jinja.sandbox.bounds import WEIGHTLESS
from promptpress._jinja.traced_values import TracedText


class BailError(Exception):
    """Rows go to Jinja2 from here on: the template raises, or the result isn't certain."""

    def __init__(self, reason: str, lineno: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lineno = lineno


class UnsupportedError(BailError):
    """An operation without support for values of the row met one."""


class LoopControl(Exception):  # noqa: N818 - not an error
    """A `break` or `continue`."""


class NeedsKeyError(Exception):
    """The program depends on a number such as the length of a list: it is compiled for each value that occurs.

    `expression` is the number's, as `Builder.expression` describes it.
    """

    def __init__(self, expression: tuple[tuple[Any, ...], ...]) -> None:
        super().__init__(expression)
        self.expression = expression
        self.steps = 0
        """The cost of compiling until the need was noticed."""


@dataclass(frozen=True)
class Kind:
    """Knowledge about the type of a value: the possible types, and the kinds of a list's items and a dict's values.

    The types are `none`, `bool`, `int`, `float`, `str`, `list`, `dict` and `other`; None stands for any.
    """

    names: frozenset[str] | None = None
    item: Kind | None = None
    fields: tuple[tuple[str, Kind], ...] | None = field(default=None)

    def only(self, *names: str) -> bool:
        """Return true if the value surely has one of these types."""
        return self.names is not None and self.names <= set(names)

    def never(self, *names: str) -> bool:
        """Return true if the value surely has none of these types."""
        return self.names is not None and not self.names & set(names)

    @property
    def known_fields(self) -> tuple[tuple[str, Kind], ...] | None:
        """The fields of a dict, which may also be None; None if the value may be something else."""
        return self.fields if self.only("dict", "none") else None

    def of_field(self, name: str) -> Kind | None:
        """Return the kind of a dict's value; None if the dict surely has no such key."""
        return UNKNOWN if self.fields is None else dict(self.fields).get(name)


def kind(*names: str) -> Kind:
    """Return the kind of these types."""
    return Kind(frozenset(names))


UNKNOWN = Kind()
TEXT = kind("str")


class _Inspections(threading.local):
    """The thread's count of inspected opaque values: several threads compile, and each counts its own."""

    count = 0


_INSPECTIONS = _Inspections()


def inspections() -> int:
    """Return how often opaque values were inspected so far."""
    return _INSPECTIONS.count


def forget_inspections(count: int) -> None:
    """Reset the count to an earlier result of `inspections`: the row for which it matters goes to Jinja2."""
    _INSPECTIONS.count = count


def _refuse(*_: Any, **__: Any) -> NoReturn:
    _INSPECTIONS.count += 1
    raise UnsupportedError("a value of the row is looked at by an operation that isn't compiled")


class Opaque:
    """A value that refuses every inspection. Our own code calls `type(value)`, which the value can't notice."""

    __slots__ = ()

    __str__ = __repr__ = __format__ = __bool__ = __len__ = __iter__ = __next__ = __contains__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = _refuse
    __neg__ = __pos__ = __abs__ = __invert__ = __int__ = __float__ = __index__ = __complex__ = __round__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = _refuse
    __rshift__ = __rrshift__ = __divmod__ = __rdivmod__ = __matmul__ = __rmatmul__ = _refuse
    __call__ = __getitem__ = __setitem__ = __delitem__ = __reversed__ = __bytes__ = __enter__ = __exit__ = _refuse
    __await__ = __aiter__ = __anext__ = __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __dir__ = _refuse
    __getattr__ = _refuse
    # `isinstance` reads it.
    __class__ = property(_refuse)


@final
class Sym(Opaque):
    """A value of the row: the number of an expression of the program, and knowledge about the type."""

    __slots__ = ("kind", "node")

    def __init__(self, node: int, kind: Kind = UNKNOWN) -> None:
        self.node = node
        self.kind = kind


MAX_WAYS = 16
"""The largest number of a choice's alternatives. The program of an operation on a choice has a part for each."""


@final
class Choice(Opaque):
    """One of two values, decided by the node of a condition; programs can't represent at least one of the values."""

    __slots__ = ("condition", "is_list", "otherwise", "then", "ways")

    def __init__(self, condition: int, then: Any, otherwise: Any) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        ways = sum(side.ways if type(side) is Choice else 1 for side in (then, otherwise))
        self.ways: int = min(ways, MAX_WAYS + 1)
        """The number of alternatives, each counted once for every way that leads to it."""
        self.is_list = all(_is_list(side) for side in (then, otherwise))
        """True if it surely is a list."""


def _is_list(value: Any) -> bool:
    if type(value) is Choice:
        return value.is_list
    return type(value) is list or (type(value) is Sym and value.kind.only("list"))


@final
class MarkedSafe(Opaque):
    """A text of the row that a template has marked as safe: it may be written, and nothing else."""

    __slots__ = ("value",)

    def __init__(self, value: Sym) -> None:
        self.value = value


@final
class Closed(Opaque):
    """A list or dict (its `kind`) of the row whose parts aren't read: its JSON is known, and that it isn't empty."""

    __slots__ = ("json", "kind")

    def __init__(self, json: Sym, kind: str) -> None:
        self.json = json
        self.kind = kind


_OPAQUE = (Sym, Choice, MarkedSafe, Closed)
WEIGHTLESS.update(_OPAQUE)


def is_opaque(value: Any) -> bool:
    """Return true if a value isn't known yet."""
    return type(value) in _OPAQUE


def is_text(value: Any) -> bool:
    """Return true if a value surely is a text."""
    return type(value) in (str, TracedText) or (type(value) is Sym and value.kind.only("str"))


MISSING = object()
"""The value of a name that has none."""


_ABSENT = object()


class Trail(dict[Any, Any]):
    """A dict that records its changes. Only `trail[key] = value` changes it."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        super().__init__()
        self._changes: list[tuple[Any, Any]] = []

    def __setitem__(self, key: Any, value: Any) -> None:
        self._changes.append((key, self.get(key, _ABSENT)))
        super().__setitem__(key, value)

    def mark(self) -> int:
        """Return a mark of the present state, for `undo`."""
        return len(self._changes)

    def undo(self, mark: int) -> dict[Any, Any]:
        """Return to the state at a mark; return the values that the changed keys had until now, last changed last."""
        last: dict[Any, Any] = {}
        for key, before in reversed(self._changes[mark:]):
            if key not in last:
                last[key] = self[key]
            if before is _ABSENT:
                del self[key]
            else:
                super().__setitem__(key, before)
        del self._changes[mark:]
        return dict(reversed(last.items()))

    def redo(self, changes: dict[Any, Any]) -> None:
        """Repeat changes that `undo` returned."""
        for key, value in changes.items():
            self[key] = value
