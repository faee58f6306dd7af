"""What can go wrong with the files that are read and written, each error told in one line."""

from __future__ import annotations

import os

__all__ = ["ConfigError", "DataError", "FileError", "OutputError", "UsageError", "reason"]


class FileError(Exception):
    """An error that is told in one line; its class says which part it was.

    Example:
        >>> isinstance(DataError("a.parquet: no such file"), FileError)
        True

    """


class UsageError(FileError):
    """What is asked for can't be done."""


class ConfigError(FileError):
    """A configuration can't be read, or holds no prompt configuration."""


class DataError(FileError):
    """The samples or examples can't be read."""


class OutputError(FileError):
    """The output can't be written."""


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
