"""Public names for classes and functions of private modules; the public modules call it for what they export."""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

_PRIVATE = ("promptpress._", "promptpress_workbench.", "promptpress_harness.")
"""How the names of modules begin that are no interface."""


def name_publicly(module: str, public: Mapping[str, Any]) -> None:
    """Set `__module__` and `__qualname__` of classes and functions to their public names.

    Reprs, tracebacks and pickles then stay the same if a private module moves. Methods are renamed too, because doctest
    skips methods of other modules.
    """
    for name, value in public.items():
        if not isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            continue
        defined_in = value.__module__
        if not defined_in.startswith(_PRIVATE):
            continue
        value.__module__ = module
        if value.__qualname__ != name:
            value.__qualname__ = name  # type: ignore[misc]  # a builtin's is right already
        for member in vars(value).values() if isinstance(value, type) else ():
            for function in _functions(member):
                if function.__module__ == defined_in:
                    function.__module__ = module


def _functions(member: Any) -> list[FunctionType]:
    """Return the functions in a member of a class."""
    if isinstance(member, property):
        functions = [member.fget, member.fset, member.fdel]
    else:
        functions = [member.__func__ if isinstance(member, (staticmethod, classmethod)) else member]
    return [function for function in functions if isinstance(function, FunctionType)]
