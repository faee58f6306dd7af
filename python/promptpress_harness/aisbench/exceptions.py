"""AISBench's exceptions: its own classes if it can be imported, else classes of the same names.

The harness's classes add the meaning of the error code and a link to a message; the classes here add only the code. The
harness is imported when the first exception is needed.
"""

from __future__ import annotations

import functools
from typing import Any

from promptpress_harness.registry import Fault

NAMES = (
    "AISBenchImplementationError",
    "AISBenchInvalidTypeException",
    "AISBenchKeyError",
    "AISBenchTypeError",
    "AISBenchValueError",
)


class AISBenchBaseException(Exception):  # noqa: N818 - the harness's name
    """The base of AISBench's exceptions.

    Args:
        error_code: The harness's code of the error.
        message: The reason, as a sentence.

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
    """A method that the template doesn't have."""


class AISBenchInvalidTypeException(AISBenchBaseException):
    """An argument has the wrong type."""


class AISBenchKeyError(AISBenchBaseException):
    """An unknown role."""


class AISBenchTypeError(AISBenchBaseException):
    """A value of the wrong type, or values that can't be joined."""


class AISBenchValueError(AISBenchBaseException):
    """A template or a prompt has the wrong content."""


OWN_CLASSES: dict[str, type[AISBenchBaseException]] = {name: globals()[name] for name in NAMES}


@functools.cache
def harness_exceptions() -> Any:
    """Return the harness's module of exceptions, or None if it can't be imported."""
    try:
        from ais_bench.benchmark.utils.logging import exceptions  # noqa: PLC0415 - imported when it is needed
    except ImportError:
        return None
    return exceptions


def exception_class(name: str) -> Any:
    """Return the class that is raised under a name, the harness's or the one here."""
    return getattr(harness_exceptions(), name, None) or OWN_CLASSES[name]


def fault(name: str, code: str) -> Fault:
    """Return a function that makes exceptions of one class and code.

    Example:
        >>> raised = fault("AISBenchValueError", "ICLR-TYPE-001")("no template")
        >>> raised.error_code_str
        'ICLR-TYPE-001'
    """

    def make(message: str) -> Exception:
        harness = harness_exceptions()
        error_code = harness.error_manager.get(code) if harness is not None else None
        if error_code is not None:
            return getattr(harness, name)(error_code, message)  # type: ignore[no-any-return]
        return OWN_CLASSES[name](code, message)

    return make
