"""AISBench's exceptions: its own classes where it can be imported, else classes of the same names.

The harness's classes know error codes, and put the code's meaning and a link around a message. Ours put the code before
it. Which one is raised is decided when the first exception is needed; until then nothing of the harness is imported.
"""

from __future__ import annotations

import functools
from typing import Any

from promptpress._single.faults import Fault

NAMES = (
    "AISBenchImplementationError",
    "AISBenchInvalidTypeException",
    "AISBenchKeyError",
    "AISBenchTypeError",
    "AISBenchValueError",
)


class AISBenchBaseException(Exception):  # noqa: N818 - the harness's name
    """What AISBench's exceptions have in common.

    Args:
        error_code: The harness's code for what is wrong.
        message: What is wrong.

    Example:
        >>> str(AISBenchBaseException("ICLR-TYPE-001", "no template"))
        '[ICLR-TYPE-001] no template'
    """

    def __init__(self, error_code: str, message: str | None = None) -> None:
        self.error_code_str = error_code
        self.message = message
        super().__init__(f"[{error_code}] {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.error_code_str, self.message)


class AISBenchImplementationError(AISBenchBaseException):
    """A template was asked for what it doesn't do."""


class AISBenchInvalidTypeException(AISBenchBaseException):
    """An argument has the wrong type."""


class AISBenchKeyError(AISBenchBaseException):
    """A role that nobody knows."""


class AISBenchTypeError(AISBenchBaseException):
    """Something has the wrong type, or can't be joined."""


class AISBenchValueError(AISBenchBaseException):
    """A template or a prompt has the wrong content."""


OWN_CLASSES: dict[str, type[AISBenchBaseException]] = {name: globals()[name] for name in NAMES}


@functools.cache
def harness_exceptions() -> Any:
    """The harness's module of exceptions, or None where it can't be imported."""
    try:
        from ais_bench.benchmark.utils.logging import exceptions  # noqa: PLC0415 - imported when it is needed
    except ImportError:
        return None
    return exceptions


def exception_class(name: str) -> Any:
    """The class that is raised under a name, the harness's or ours.

    Example:
        >>> exception_class("AISBenchValueError").__name__
        'AISBenchValueError'
    """
    return getattr(harness_exceptions(), name, None) or OWN_CLASSES[name]


def fault(name: str, code: str) -> Fault:
    """What makes exceptions of one class and code.

    Example:
        >>> raised = fault("AISBenchValueError", "ICLR-TYPE-001")("no template")
        >>> raised.error_code_str
        'ICLR-TYPE-001'
    """

    def make(message: str) -> Exception:
        theirs = harness_exceptions()
        known = theirs.error_manager.get(code) if theirs is not None else None
        if known is not None:
            return getattr(theirs, name)(known, message)  # type: ignore[no-any-return]
        return OWN_CLASSES[name](code, message)

    return make
