"""Messages of the command on standard error, and the characters that a stream can show."""

from __future__ import annotations

import sys

from promptpress._utils.escapes import encodable, printable


def print_error_line(line: str) -> None:
    """Print a line to standard error, with all characters escaped that would control a terminal or can't be encoded."""
    print(encodable(printable(line), sys.stderr.encoding), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a message of the program to standard error, in one line."""
    print_error_line(f"promptpress: {text.replace(chr(10), ' ')}")


def can_encode(text: str, encoding: str) -> bool:
    """Return true if an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
