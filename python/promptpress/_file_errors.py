"""What can go wrong with the files that are read and written, each error told in one line.

Faults of a configuration's file are `promptpress.TemplateError`s, those of samples `promptpress.RenderError`s, so that
Python has two errors to catch. What the command calls an option is an argument there: an error that a choice would mend
says which choice, and each side gives it its own name.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from promptpress._core import RenderError, TemplateError

__all__ = ["Choice", "ConfigError", "DataError", "FileError", "OutputError", "UsageError", "located", "reason"]


class Choice(NamedTuple):
    """What would mend an error: an argument, and the end of the sentence that it begins.

    Example:
        >>> Choice("data_format", "says the format").of_python, Choice("data_format", "says the format").of_command
        ('data_format= says the format', '--data-format says the format')

    """

    argument: str
    does: str

    @property
    def of_python(self) -> str:
        """The sentence for who calls a function."""
        return f"{self.argument}= {self.does}"

    @property
    def of_command(self) -> str:
        """The sentence for who types a command."""
        return f"{_option(self.argument)} {self.does}"


def _option(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"


class FileError(Exception):
    """An error that is told in one line; its class says which part it was.

    Args:
        found: what was found, and where.
        choice: what would choose, where that is what is wrong.
        given: an argument and its value, where those are what the error is about.
        for_command: what is only to be said to who types a command.
        is_choice: whether something else is to be chosen, which makes the code `unclear_choice`; by default where one
            of the two above is there.

    Example:
        >>> isinstance(DataError("a.parquet: no such file"), FileError)
        True
        >>> error = DataError("a.x: unknown suffix", Choice("data_format", "says the format"))
        >>> str(error), error.of_command()
        ('a.x: unknown suffix; data_format= says the format', 'a.x: unknown suffix; --data-format says the format')

    """

    usual_code = "internal_error"

    def __init__(
        self,
        found: str,
        choice: Choice | None = None,
        *,
        given: tuple[str, str] | None = None,
        for_command: str = "",
        is_choice: bool | None = None,
    ) -> None:
        # A NUL byte ends a C string: an exported stream's message would be cut there.
        self._found = found.replace("\0", "\\x00")
        self._choice = choice
        self._given = given
        self._for_command = for_command
        place = f"{given[0]}={given[1]!r}: " if given is not None else ""
        super().__init__(f"{place}{self._found}" + (f"; {choice.of_python}" if choice is not None else ""))
        if is_choice is None:
            is_choice = choice is not None or given is not None
        self.code: Any = "unclear_choice" if is_choice else self.usual_code
        self.message: Any = str(self)
        self.path: Any = None
        self.row: Any = None
        self.column: Any = None

    def of_command(self) -> str:
        """Say it to who types a command.

        Returns:
            The text, with options for arguments.

        """
        place = f"{_option(self._given[0])} {self._given[1]}: " if self._given is not None else ""
        hints = [self._choice.of_command] if self._choice is not None else []
        return "; ".join([f"{place}{self._found}", *hints, *filter(None, [self._for_command])])


class UsageError(FileError):
    """What is asked for can't be done."""


class ConfigError(FileError, TemplateError):
    """A configuration can't be read, or holds no prompt configuration."""

    usual_code = "unreadable_config"


class DataError(FileError, RenderError):
    """The samples or examples can't be read."""

    usual_code = "unreadable_data"


class OutputError(FileError):
    """The output can't be written."""


def located(error: FileError, path: str) -> FileError:
    """Say of an error which file it is about, for who catches it.

    Args:
        error: as it was raised; its text names the place already.
        path: the file.

    Returns:
        The same error.

    Example:
        >>> error = located(DataError("a.jsonl:3: not valid JSON"), "a.jsonl")
        >>> error.path, error.message
        ('a.jsonl', 'not valid JSON')

    """
    error.path = path
    text = str(error)
    place, colon, rest = text.partition(": ")
    if colon and place.startswith(path):
        error.message = rest
    return error


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
