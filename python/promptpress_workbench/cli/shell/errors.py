"""Messages of the command on standard error: errors in the words of its options, with exit codes, and notes."""

from __future__ import annotations

import sys
from argparse import Namespace
from enum import IntEnum

from promptpress import ConfigError, DataError
from promptpress.engine.core import RenderError, TemplateError
from promptpress.engine.errors import FileError, FilledValuesWarning, OutputError, ReaderGoneError, UsageError, reason

from promptpress_workbench.cli.shell.option_words import in_options
from promptpress_workbench.prompts.escapes import encodable, printable

NO_ROWS = "--where: the condition holds for no row"
"""The message if no row is chosen."""


class ExitCode(IntEnum):
    """Exit codes of the process, as `docs/command.md` lists them."""

    OK = 0
    UNEXPECTED = 1
    DIFFERENT = 1  # `verify` and `diff` have found a difference, as with `cmp` and `diff`
    FINDINGS = 1  # `audit` has found something
    USAGE = 2
    CONFIGURATION = 3
    DATA = 4
    OUTPUT = 5
    UNSUPPORTED = 6  # `verify`: promptpress has no part for what the harness does
    INCOMPLETE = 7  # done, except for rows that --skip-corrupt leaves out; with --strict those of --errors, too
    INTERRUPTED = 130  # a shell reports this code for SIGINT: 128 + 2
    READER_GONE = 141  # a shell reports this code for SIGPIPE: 128 + 13
    TERMINATED = 143  # a shell reports this code for SIGTERM: 128 + 15


class Terminated(BaseException):
    """Raised on SIGTERM; not an `Exception`, as KeyboardInterrupt isn't, so that no handler on the way swallows it."""


_EXIT_CODES: dict[type[FileError], ExitCode] = {
    ReaderGoneError: ExitCode.READER_GONE,
    UsageError: ExitCode.USAGE,
    ConfigError: ExitCode.CONFIGURATION,
    DataError: ExitCode.DATA,
    OutputError: ExitCode.OUTPUT,
}


def code_and_text(  # noqa: PLR0911 - a return for each kind of error
    error: BaseException, out: str | None = None
) -> tuple[ExitCode, str]:
    """Return the exit code and the message of a failure.

    Args:
        error: Any exception.
        out: The value of `--out`.

    Example:
        >>> code_and_text(DataError("a.parquet: no such file"))
        (<ExitCode.DATA: 4>, 'a.parquet: no such file')

    """
    if isinstance(error, FileError):
        return exit_code_of(error), error.of_command()
    if isinstance(error, (TemplateError, RenderError)):
        is_template = isinstance(error, TemplateError)
        return ExitCode.CONFIGURATION if is_template else ExitCode.DATA, in_options(str(error))
    if isinstance(error, FilledValuesWarning):
        return ExitCode.CONFIGURATION, f"{in_options(str(error))} (--strict)"
    if isinstance(error, (KeyboardInterrupt, Terminated)):
        left = "what standard output has may be incomplete" if out == "-" else "nothing is written"
        if isinstance(error, Terminated):
            return ExitCode.TERMINATED, f"terminated, {left}"
        return ExitCode.INTERRUPTED, f"interrupted, {left}"
    if isinstance(error, MemoryError):
        return ExitCode.UNEXPECTED, "out of memory; a smaller --batch-size needs less"
    return ExitCode.UNEXPECTED, f"unexpected {type(error).__name__}: {reason(error)} (--traceback shows where)"


def exit_code_of(error: FileError) -> ExitCode:
    """Return the exit code for a file error.

    Example:
        >>> exit_code_of(DataError("a.parquet: no such file")).name
        'DATA'

    """
    if error.code == "unclear_choice":
        return ExitCode.USAGE
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), ExitCode.UNEXPECTED)


def print_error_line(line: str) -> None:
    """Print a line to standard error, with all characters escaped that would control a terminal or can't be encoded."""
    print(encodable(printable(line), sys.stderr.encoding), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a message of the program to standard error, in one line."""
    print_error_line(f"promptpress: {text.replace(chr(10), ' ')}")


def report_no_rows(arguments: Namespace, rows: int) -> None:
    """Report that the condition of `--where` holds for no row."""
    if not rows and arguments.where is not None and not arguments.quiet:
        say(f"note: {NO_ROWS}")


def can_encode(text: str, encoding: str) -> bool:
    """Return true if an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
