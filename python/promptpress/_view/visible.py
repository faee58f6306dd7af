"""Characters that can't be seen, or that steer what shows them, as something that can."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "ASCII",
    "UNICODE",
    "Glyphs",
    "cell",
    "cells",
    "encodable",
    "escaped",
    "one_line",
    "printable",
    "runs",
    "visible",
]

# Controls (C0, DEL, C1) but line feed and tab; soft hyphen; marks of direction; zero-width characters; line and
# paragraph separators, at which some terminals and str.splitlines break; annotations; shorthand and musical controls;
# tags; lone surrogates.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SECOND_SELECTOR = "(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
"""Variation selectors after one: one alone is part of an emoji, a row of them hides text."""

_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Spaces that look like another."""

_UNSEEN = re.compile(f"[{_HIDDEN}]+|{_SECOND_SELECTOR}")
_UNSEEN_IN_LINE = re.compile(f"[{_HIDDEN}\t\n]+|{_SECOND_SELECTOR}")
_UNSEEN_OR_SPACE = re.compile(f"[{_HIDDEN}]+|{_SECOND_SELECTOR}|[{_SPACES}]+| +|\t|\n")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What white space is shown as.

    Args:
        space: A space.
        tab: A tab.
        newline: A line feed, which ends the line as well.
        line: What lines are drawn with.
        ellipsis: What is left out.
        middle: What stands between words of a heading.

    """

    space: str
    tab: str
    newline: str
    line: str
    ellipsis: str
    middle: str


UNICODE = Glyphs("·", "→", "↵", "─", "…", "·")
ASCII = Glyphs(".", "\\t", "\\n", "-", "...", "-")


def escaped(text: str) -> str:
    r"""Write each character as Python's source would.

    Args:
        text: Characters that can't be seen.

    Returns:
        Such as `\x1b` or `\u202e`.

    >>> print(escaped("\x1b\u202e"))
    \x1b\u202e

    """
    return "".join(_one(ord(character)) for character in text)


def _one(code: int) -> str:
    short = {9: "\\t", 10: "\\n", 13: "\\r"}
    if code in short:
        return short[code]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def runs(text: str, whitespace: Glyphs | None = None) -> Iterator[tuple[str, int, bool]]:
    r"""Cut a text into what is shown as it is and what is shown by something else.

    Args:
        text: Any text.
        whitespace: What white space is shown as; None leaves it as it is.

    Returns:
        What is shown, how many characters of `text` it stands for, and whether it stands for something else. A line
        feed that is shown stands before itself.

    >>> list(runs("a\x1b[1m"))
    [('a', 1, False), ('\\x1b', 1, True), ('[1m', 3, False)]
    >>> list(runs("a b\n", UNICODE))
    [('a', 1, False), ('·', 1, True), ('b', 1, False), ('↵', 0, True), ('\n', 1, False)]

    """
    at = 0
    for found in (_UNSEEN if whitespace is None else _UNSEEN_OR_SPACE).finditer(text):
        start, end = found.span()
        if at < start:
            yield text[at:start], start - at, False
        what, at = found.group(), end
        if whitespace is not None and what[0] == " ":
            yield whitespace.space * len(what), len(what), True
        elif whitespace is not None and what == "\t":
            yield whitespace.tab, 1, True
        elif whitespace is not None and what == "\n":
            yield whitespace.newline, 0, True
            yield "\n", 1, False
        else:
            yield escaped(what), len(what), True
    if at < len(text):
        yield text[at:], len(text) - at, False


def one_line(text: str) -> str:
    r"""Write a text on one line, with nothing hidden in it: a name, a label, a role.

    >>> print(one_line("a\n\x1b[1m"))
    a\n\x1b[1m

    """
    return _UNSEEN_IN_LINE.sub(lambda found: escaped(found.group()), text)


def printable(text: str) -> str:
    r"""Write a message or a name on one line: of characters that are printed as themselves, and escapes.

    This is stricter than `one_line`, for what is said about prompts: there is no reason to show an odd space or a
    character of private use as it is.

    Args:
        text: Any text.

    Returns:
        What `str.isprintable` doesn't call printable, and what can't be seen all the same, as escapes.

    >>> print(printable("a\x1b[31m\u202e\u3164\n"))
    a\x1b[31m\u202e\u3164\n

    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(c if c.isprintable() else escaped(c) for c in one_line(text))


def encodable(text: str, encoding: str | None) -> str:
    r"""Write what an encoding lacks as escapes, so that a stream of it takes the text.

    Args:
        text: Any text.
        encoding: As the stream names its own; None, where it has none, is UTF-8.

    Returns:
        The text; what it is of that can't be encoded, surrogates among it, as escapes.

    >>> print(encodable("é 日", "latin-1"))
    é \u65e5

    """
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def visible(text: str) -> str:
    r"""Write a text with nothing hidden in it; its lines stay.

    >>> print(visible("a\n\x1b[1m"))
    a
    \x1b[1m

    """
    return "".join(shown for shown, _, _ in runs(text))


def cells(text: str) -> int:
    """Count the cells that a text takes in a terminal.

    Args:
        text: Of characters that can be seen.

    Returns:
        Two for wide ones, none for those that stand on another.

    >>> cells("a日é")
    4

    """
    return len(text) if text.isascii() else sum(map(cell, text))


def cell(character: str) -> int:
    """Count the cells of one character.

    >>> cell("日"), cell("a"), cell(chr(0x301))
    (2, 1, 0)

    """
    if character < "\u0300":
        return 1
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me") else 1
