"""Names and labels of the data as text that steers no terminal and keeps its place in a column."""

from __future__ import annotations

import unicodedata

from promptpress._view.visible import printable

__all__ = ["fitted", "shown_width", "visible"]


def visible(value: object) -> str:
    r"""Show a value with every character that isn't printed as itself escaped.

    Args:
        value: A name, a label, or None.

    Returns:
        The text, on one line; nothing for None.

    >>> visible("a\x1b[31m\u202e")
    'a\\x1b[31m\\u202e'

    """
    return "" if value is None else printable(str(value))


def shown_width(text: str) -> int:
    """Count the columns that a text takes in a terminal.

    Args:
        text: Printable characters.

    Returns:
        One a character; two for wide ones, none for those that combine with the one before.

    >>> shown_width("ab"), shown_width("你好")
    (2, 4)

    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Give a text a width: filled with spaces, or cut.

    Args:
        text: Printable characters.
        width: How many columns.
        right: Whether the spaces come first.

    Returns:
        The text.

    >>> fitted("abc", 5), fitted("abc", 5, right=True), fitted("a long name", 7)
    ('abc  ', '  abc', 'a lo...')

    """
    if shown_width(text) > width:
        kept = text
        while kept and shown_width(kept) > width - 3:
            kept = kept[:-1]
        text = kept + "..."[:width]
    spaces = " " * (width - shown_width(text))
    return spaces + text if right else text + spaces
