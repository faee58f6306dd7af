"""What can go wrong in the command, and the exit code that says which part it was."""

from __future__ import annotations

import os
from enum import IntEnum


class ExitCode(IntEnum):
    """How the process ends; `docs/command.md` lists the same codes.

    Example:
        >>> int(ExitCode.DATA)
        4

    """

    OK = 0
    UNEXPECTED = 1
    DIFFERENT = 1  # what `verify` looks for, as `cmp` and `diff` have it
    USAGE = 2
    CONFIGURATION = 3
    DATA = 4
    OUTPUT = 5
    UNSUPPORTED = 6  # `verify`: promptpress has no part for what the harness does
    INTERRUPTED = 130  # what a shell reports for SIGINT: 128 + 2
    TERMINATED = 143  # and for SIGTERM: 128 + 15


class CommandError(Exception):
    """An error that is told in one line; its class gives the exit code.

    Example:
        >>> DataError("a.parquet: no such file").exit_code.name
        'DATA'

    """

    exit_code = ExitCode.UNEXPECTED


class UsageError(CommandError):
    """The command line asks for something that can't be done."""

    exit_code = ExitCode.USAGE


class ConfigError(CommandError):
    """A configuration can't be read, or holds no prompt configuration."""

    exit_code = ExitCode.CONFIGURATION


class DataError(CommandError):
    """The samples or examples can't be read."""

    exit_code = ExitCode.DATA


class OutputError(CommandError):
    """The output can't be written."""

    exit_code = ExitCode.OUTPUT


class Terminated(BaseException):
    """SIGTERM arrived. Like KeyboardInterrupt no `Exception`, so that nothing on the way swallows it."""


def reason(error: BaseException) -> str:
    """Say in one line why something failed.

    Args:
        error: what was raised.

    Returns:
        The system's words for an error of the system, else the first line of the message.

    Example:
        >>> reason(FileNotFoundError(2, "No such file or directory", "x"))
        'No such file or directory'

    """
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # Arrow's own sentence repeats the path, which the callers name
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
