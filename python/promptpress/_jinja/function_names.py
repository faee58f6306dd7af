"""Functions that have the names of those that they stand for: Python's own messages of errors say them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

__all__ = ["copy_as", "named_as"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def named_as(module: str, name: str) -> Callable[[_Function], _Function]:
    """Return a decorator that names a function.

    Args:
        module: The module that messages name.
        name: The name within it.

    >>> @named_as("jinja2.runtime", "Context.call")
    ... def call(): ...
    >>> call(1)
    Traceback (most recent call last):
    TypeError: Context.call() takes 0 positional arguments but 1 was given

    """

    def rename(function: _Function) -> _Function:
        function.__module__, function.__qualname__ = module, name
        return function

    return rename


def copy_as(function: _Function, module: str, name: str) -> _Function:
    """Return a copy of a function under another name.

    Args:
        function: Stays as it is.
        module: The module that messages name.
        name: The name within it.

    >>> copy_as(named_as, "a", "b").__qualname__, named_as.__qualname__
    ('b', 'named_as')

    """
    own = cast("FunctionType", function)
    made = FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
    made.__kwdefaults__ = own.__kwdefaults__
    return cast("_Function", named_as(module, name)(made))
