"""Classes and functions under the names by which users know them."""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

__all__ = ["name_publicly"]


def name_publicly(module: str, public: Mapping[str, Any]) -> None:
    """Have classes and functions say that they are of the public module that shows them.

    Where a class is written may change, and what a repr, a traceback or a pickle says has to last. Methods too, or
    doctest would take them for another module's.

    Args:
        module: The public module's name.
        public: What it shows, by name. What isn't written in private modules of its own is left alone.

    >>> class Written:
    ...     def method(self): ...
    >>> Written.__module__ = Written.method.__module__ = "promptpress._written"
    >>> name_publicly("promptpress", {"Shown": Written})
    >>> Written, Written.method.__module__
    (<class 'promptpress.Shown'>, 'promptpress')

    """
    package, _, own = module.rpartition(".")
    private = (f"{module}._", f"{package}._{own}.") if package else (f"{module}._",)
    for name, value in public.items():
        if not isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            continue
        written = value.__module__
        if not written.startswith(private):
            continue
        value.__module__ = module
        if value.__qualname__ != name:
            value.__qualname__ = name  # type: ignore[misc]  # a builtin's is right already
        for member in vars(value).values() if isinstance(value, type) else ():
            for function in _functions(member):
                if function.__module__ == written:
                    function.__module__ = module


def _functions(member: Any) -> list[FunctionType]:
    """List the functions that a member of a class is made of."""
    if isinstance(member, property):
        parts = [member.fget, member.fset, member.fdel]
    else:
        parts = [member.__func__ if isinstance(member, (staticmethod, classmethod)) else member]
    return [part for part in parts if isinstance(part, FunctionType)]
