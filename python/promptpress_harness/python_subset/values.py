"""The values of a Python configuration that aren't plain data: imported names, and code that can't be read."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NoReturn

from promptpress import ConfigError

_NOT_EXECUTED = (
    "the file is read as data, and this would have to be executed; load it in Python, and give its dicts to "
    "promptpress.Renderer.from_config"
)


class RefusedError(ConfigError):
    """An error for code in a Python configuration that would have to be executed.

    If `final` is true, the whole file is refused. Otherwise the error belongs to one value, and is raised if that value
    is needed: prompts don't need an evaluator that is made by a function call.
    """

    def __init__(self, path: str, line: int, problem: str, *, final: bool = False, broken: bool = False) -> None:
        tail = "" if broken else f": {_NOT_EXECUTED}"
        super().__init__(f"{path}:{line}: {problem}{tail}")
        self.final = final


class Opaque:
    """A value that can be passed on but not read.

    Every operation that reads it, at any depth (`==`, `str`, `sorted`, an f-string), raises its refusal, so that a
    configuration is never read differently from its harness.

    Args:
        refusal: The error for code that needs the value.
        shared: True if the value may refer to data of the file, so that code that gets it may change the data.
        inert: True if computing the value changes no other value.

    >>> str([Opaque(RefusedError("my.py", 3, "call of make()"))])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    promptpress_harness.python_subset.values.RefusedError: my.py:3: call of make(): ...

    """

    def __init__(self, refusal: RefusedError, *, shared: bool = True, inert: bool = False) -> None:
        self.refusal = refusal
        self.shared = shared
        self.inert = inert

    def _refuse(self, *_: object) -> NoReturn:
        raise self.refusal

    def __copy__(self) -> Opaque:
        return self

    def __deepcopy__(self, memo: object) -> Opaque:
        return self

    __str__ = __repr__ = __format__ = __eq__ = __hash__ = __bool__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __iter__ = __len__ = __contains__ = __getitem__ = _refuse
    __int__ = __float__ = __index__ = __next__ = __reversed__ = __round__ = __abs__ = __neg__ = __pos__ = _refuse
    __add__ = __radd__ = __mod__ = __rmod__ = __mul__ = __rmul__ = _refuse


class Symbol(Opaque):
    """An object that is known only by its dotted name: an imported class, module or function, or a builtin.

    Args:
        dotted: The dotted name.
        refusal: The error for code that needs more than the name.
        local: The definition, for a function or class of the file itself.

    """

    def __init__(self, dotted: str, refusal: RefusedError, *, local: ast.stmt | None = None) -> None:
        super().__init__(refusal, shared=False, inert=True)
        self.dotted = dotted
        self.local = local


def is_stream(value: object) -> bool:
    """Return true for an iterator or a text file, which change when a value is read from them.

    >>> is_stream(iter([])), is_stream([])
    (True, False)

    """
    return hasattr(type(value), "__next__") and not isinstance(value, Opaque)


def first_opaque(values: Iterable[object]) -> Opaque | None:
    """Return the first opaque value among values, or None."""
    return next((value for value in values if isinstance(value, Opaque)), None)


def opaque_in(value: object, depth: int = 2) -> Opaque | None:
    """Return the first opaque value in a value and in its containers down to a depth, or None."""
    if isinstance(value, Opaque):
        return value
    if depth and isinstance(value, (list, tuple, set, frozenset, dict)):
        parts = [*value, *dict.values(value)] if isinstance(value, dict) else value
        return first_opaque(opaque_in(part, depth - 1) for part in parts)
    return None
