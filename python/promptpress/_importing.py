"""The import of promptpress: Ctrl-C ends the process, pyarrow may be missing, and classes get their public names."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` takes longer to import than all of this
import os
import sys
from types import BuiltinFunctionType, FunctionType

TYPE_CHECKING = False  # that of `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def _started_as() -> str:
    """Return the module or the script that the process was started as, such as `promptpress` or `promptpress.run`."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # while the module that is run is looked for
        words = iter(sys.orig_argv)
        return next((next(words, "") for word in words if word == "-m"), "")
    return os.path.basename(program).partition(".")[0]


def end_by_interrupt() -> None:
    """Let Ctrl-C end the process without a traceback, until `unwind_by_interrupt`."""
    if _started_as() == "promptpress" and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def unwind_by_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, for whom cleans up after it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.SIG_DFL:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def import_pyarrow() -> None:
    """Import pyarrow; an error has the remedy, and is a line on standard error in the package's commands."""
    try:
        import pyarrow  # noqa: F401, PLC0415 - it may be absent
    except ImportError as error:
        reason = " ".join(str(error).split())
        message = (
            f"pyarrow can't be imported: {reason}; beside OpenCompass and AISBench, which ask for numpy below 2, pip "
            "install 'promptpress[harness]' brings a pyarrow that works, and else pip install --upgrade pyarrow numpy"
        )
        if _started_as().split(".")[0] not in ("promptpress", "promptpress-run") or "--traceback" in sys.argv:
            raise ImportError(message, name="pyarrow") from error
        print(f"promptpress: error: {message}", file=sys.stderr)
        raise SystemExit(3) from None


_PRIVATE = ("promptpress._", "promptpress_workbench.", "promptpress_harness.")
"""Beginnings of the names of modules that are no interface."""


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
