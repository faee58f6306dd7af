"""Messages of the command on standard error, and the characters that a stream can show."""

from __future__ import annotations

import sys
from argparse import Namespace

from promptpress._utils.escapes import encodable, printable

NO_ROWS = "--where: the condition holds for no row"
"""The message if no row is chosen."""


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
