"""`--row 3,17,100-105`."""

from __future__ import annotations

from argparse import ArgumentTypeError


def row_numbers(text: str) -> list[int]:
    """Read numbers of rows: numbers and ranges between commas, from 0.

    Raises:
        argparse.ArgumentTypeError: for anything else.

    Example:
        >>> row_numbers("3,17,100-102")
        [3, 17, 100, 101, 102]

    """
    out: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_number(first) or (dash and not _is_number(last)) or (dash and int(last) < int(first)):
            raise ArgumentTypeError(f"{part!r} is no row: rows are numbers from 0, or ranges such as 100-105")
        out += range(int(first), int(last or first) + 1)
    return out


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
