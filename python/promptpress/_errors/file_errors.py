"""Error classes for files that can't be read or written, and the paths that they name.

Python callers catch two classes: errors of configuration files are also `promptpress.TemplateError`s, errors of samples
also `promptpress.RenderError`s. An error that a Python argument or a command's option would solve holds a `Choice`,
which names it in both ways.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from promptpress._core import RenderError, TemplateError
from promptpress._errors.errors import close_names


class Choice(NamedTuple):
    """An argument that would solve an error, and the rest of the sentence that begins with it."""

    argument: str
    does: str

    @property
    def of_python(self) -> str:
        """The sentence for callers of a Python function."""
        return f"{self.argument}= {self.does}"

    @property
    def of_command(self) -> str:
        """The sentence for users of the command."""
        return f"{_option(self.argument)} {self.does}"


def _option(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"


class FileError(Exception):
    """An error with a text of one line; each subclass stands for one kind of file.

    Args:
        problem: The fault and the file.
        choice: The argument that would solve it.
        given: The argument and value that are at fault.
        for_command: A hint for users of the command only.
        is_choice: Use the code `unclear_choice`; by default if `choice` or `given` is there.

    >>> error = DataError("a.x: unknown suffix", Choice("data_format", "says the format"))
    >>> str(error), error.of_command()
    ('a.x: unknown suffix; data_format= says the format', 'a.x: unknown suffix; --data-format says the format')
    """

    usual_code = "internal_error"

    def __init__(
        self,
        problem: str,
        choice: Choice | None = None,
        *,
        given: tuple[str, str] | None = None,
        for_command: str = "",
        is_choice: bool | None = None,
    ) -> None:
        # A NUL byte ends a C string: an exported stream's message would be cut there.
        self._problem = problem.replace("\0", "\\x00")
        self._choice = choice
        self._given = given
        self._for_command = for_command
        prefix = "" if given is None else f"{given[0]}={given[1]!r}: "
        super().__init__(f"{prefix}{self._problem}" + ("" if choice is None else f"; {choice.of_python}"))
        if is_choice is None:
            is_choice = choice is not None or given is not None
        self.code: Any = "unclear_choice" if is_choice else self.usual_code
        self.message: Any = str(self)
        self.path: Any = None
        self.row: Any = None
        self.column: Any = None

    def of_command(self) -> str:
        """Return the text for users of the command.

        Returns:
            The message with options in the place of arguments.

        >>> DataError("a.x: unknown suffix", Choice("data_format", "says the format")).of_command()
        'a.x: unknown suffix; --data-format says the format'
        """
        prefix = "" if self._given is None else f"{_option(self._given[0])} {self._given[1]}: "
        hints = ["" if self._choice is None else self._choice.of_command, self._for_command]
        return "; ".join([f"{prefix}{self._problem}", *filter(None, hints)])


class UsageError(FileError):
    """An error for a request that can't be fulfilled."""


class ConfigError(FileError, TemplateError):
    """An error for a file that can't be read as a configuration; `except TemplateError` catches it too.

    >>> from promptpress import load_config
    >>> try:
    ...     load_config("nothing.json")
    ... except ConfigError as error:
    ...     print(error.code, error.path, error.message, sep="; ")
    unreadable_config; nothing.json; No such file or directory
    """

    usual_code = "unreadable_config"


class DataError(FileError, RenderError):
    """An error for files of samples or examples that can't be read; `except RenderError` catches it too.

    >>> from promptpress import Renderer
    >>> try:
    ...     Renderer("Q: {q}").render("nothing.jsonl")
    ... except DataError as error:
    ...     print(error.code, error.path, error.message, sep="; ")
    unreadable_data; nothing.jsonl; No such file or directory
    """

    usual_code = "unreadable_data"


class OutputError(FileError):
    """An error for output that can't be written."""


class ReaderGoneError(OutputError):
    """An error for standard output whose reader has gone, as `head` does when it has seen enough."""


def located(error: FileError, path: str) -> FileError:
    """Return the same error with its path set, and without the path in its message."""
    error.path = path
    prefix, colon, rest = str(error).partition(": ")
    if colon and prefix.startswith(path):
        error.message = rest
    return error


def reason(error: BaseException) -> str:
    """Return the cause of a failure in one line: the system's text, or the first line of the error's message."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # Arrow's own sentence repeats the path, which the callers name
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_MAX_ENTRIES = 10_000

STDIN = "-"
"""Standard input, in the place of a file."""

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""The compressions of files, by the last suffix of the name."""


def missing(path: str, error: OSError) -> str:
    """Return the reason why a file can't be opened; if it is missing, with a missing folder or a similar name."""
    why = reason(error)
    if not isinstance(error, FileNotFoundError):
        return why
    folder, name = os.path.split(path)
    if {"*", "?"} & set(name):
        return f"{why} (no file matches the pattern)"
    if folder and not os.path.isdir(folder):
        return f"{why} (there is no folder {_first_missing(folder)!r})"
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
        names = [other for other in names if other != name]  # a link to nothing has the name itself
    except OSError:
        return why
    close = close_names(name, names, 1, 0.75)
    return f"{why}; did you mean {os.path.join(folder, close[0])}?" if close else why


def _first_missing(folder: str) -> str:
    """Return the outermost folder of a path that doesn't exist."""
    while (parent := os.path.dirname(folder)) and parent != folder and not os.path.isdir(parent):
        folder = parent
    return folder


def is_remote(path: str) -> bool:
    """Return true for an address, which begins with a scheme."""
    return _REMOTE.match(path) is not None


def split_codec(path: str) -> tuple[str, str | None]:
    """Split a suffix of compression off a path or address; return the rest and the codec."""
    if path.lower().startswith(("http://", "https://")):
        path = urlsplit(path).path
    inner, suffix = os.path.splitext(path)
    codec = CODECS.get(suffix.lower())
    return (inner, codec) if codec is not None else (path, None)
