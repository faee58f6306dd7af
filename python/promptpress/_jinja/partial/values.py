"""What a template's names stand for while it is evaluated: values that are there, and values of rows to come.

A value that isn't there yet is opaque: whatever code of Python's or Jinja's asks it anything (its text, its truth, what
it equals, its class) gets an exception, and the question is remembered even if that code swallows it. So an operation
that isn't known here can't go on with it and be wrong.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NoReturn, final

from promptpress._jinja.bounds import WEIGHTLESS

__all__ = [
    "MAX_WAYS",
    "MISSING",
    "TEXT",
    "UNKNOWN",
    "BailError",
    "Choice",
    "Kind",
    "LoopControl",
    "MarkedSafe",
    "NeedsKeyError",
    "Opaque",
    "Sym",
    "UnsupportedError",
    "asked",
    "forget",
    "is_opaque",
    "kind",
]


class BailError(Exception):
    """From here on the row is Jinja2's: it raises, or nothing is certain."""

    def __init__(self, reason: str, lineno: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lineno = lineno


class UnsupportedError(BailError):
    """An operation that isn't known met a value that isn't there."""


class LoopControl(Exception):  # noqa: N818 - not an error
    """A `break` or `continue`."""


class NeedsKeyError(Exception):
    """The program depends on the length of a list: it is compiled for each length that occurs.

    Args:
        expression: What has to be known of each row, as `Builder.expression` gives it.

    """

    def __init__(self, expression: tuple[tuple[Any, ...], ...]) -> None:
        super().__init__(expression)
        self.expression = expression
        self.steps = 0
        """Cost of compiling until it was found out."""


@dataclass(frozen=True)
class Kind:
    """What is known of the type of a value.

    Args:
        names: Which it may be: `none`, `bool`, `int`, `float`, `str`, `list`, `dict`, `other`; None: any.
        item: Of a list's items.
        fields: Of a dict's values.

    """

    names: frozenset[str] | None = None
    item: Kind | None = None
    fields: tuple[tuple[str, Kind], ...] | None = field(default=None)

    def only(self, *names: str) -> bool:
        """Whether it is surely one of these."""
        return self.names is not None and self.names <= set(names)

    def never(self, *names: str) -> bool:
        """Whether it is surely none of these."""
        return self.names is not None and not self.names & set(names)

    def of_field(self, name: str) -> Kind | None:
        """Of a dict's value; None where it surely has none of this name."""
        return UNKNOWN if self.fields is None else dict(self.fields).get(name)


def kind(*names: str) -> Kind:
    """The kind of these types."""
    return Kind(frozenset(names))


UNKNOWN = Kind()
TEXT = kind("str")


class _Asked(threading.local):
    """How often the thread's opaque values were asked: several threads compile, and none may take back another's."""

    count = 0


_ASKED = _Asked()


def asked() -> int:
    """How often an opaque value was asked for something so far."""
    return _ASKED.count


def forget(count: int) -> None:
    """Take back what was asked since then: the row that it would have been wrong for is Jinja2's.

    Args:
        count: What `asked` gave.

    """
    _ASKED.count = count


def _refuse(*_: Any, **__: Any) -> NoReturn:
    _ASKED.count += 1
    raise UnsupportedError("a value of the row is looked at by an operation that isn't compiled")


class Opaque:
    """Answers nothing. Code of ours asks `type(value)`, which nobody hears."""

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
    # `isinstance` asks for it.
    __class__ = property(_refuse)


@final
class Sym(Opaque):
    """A value of the row: an expression of the program.

    Args:
        node: Its number.
        kind: What is known of its type.

    """

    __slots__ = ("kind", "node")

    def __init__(self, node: int, kind: Kind = UNKNOWN) -> None:
        self.node = node
        self.kind = kind


MAX_WAYS = 16
"""Values that a choice may be. An operation is applied to each of them, so that its program grows as much."""


@final
class Choice(Opaque):
    """One of two values, by a condition of the row; at least one of them is no value that a program has.

    Args:
        condition: The number of its node.
        then: The value where it is true.
        otherwise: Where it isn't.

    """

    __slots__ = ("condition", "is_list", "otherwise", "then", "ways")

    def __init__(self, condition: int, then: Any, otherwise: Any) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        ways = sum(side.ways if type(side) is Choice else 1 for side in (then, otherwise))
        self.ways: int = min(ways, MAX_WAYS + 1)
        """How many values it may be, each counted once for every way that leads to it."""
        self.is_list = all(_is_list(side) for side in (then, otherwise))
        """True if it surely is a list."""


def _is_list(value: Any) -> bool:
    if type(value) is Choice:
        return value.is_list
    return type(value) is list or (type(value) is Sym and value.kind.only("list"))


@final
class MarkedSafe(Opaque):
    """A text of the row that a template has called safe: it may be written, and nothing else.

    Args:
        value: The text.

    """

    __slots__ = ("value",)

    def __init__(self, value: Sym) -> None:
        self.value = value


_OPAQUE = (Sym, Choice, MarkedSafe)
WEIGHTLESS.update(_OPAQUE)


def is_opaque(value: Any) -> bool:
    """Whether it is a value that isn't there.

    Args:
        value: Any.

    >>> is_opaque(Sym(0)), is_opaque([Sym(0)])
    (True, False)

    """
    return type(value) in _OPAQUE


@final
class Missing:
    """What a name stands for that nothing was given to."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()
