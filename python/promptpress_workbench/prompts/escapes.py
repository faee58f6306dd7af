"""Visible forms of invisible and control characters, for every text that users see: messages, pages, terminals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Controls (C0, DEL, C1) but line feed and tab; soft hyphen; marks of direction; zero-width characters; line and
# paragraph separators, at which some terminals and str.splitlines break; annotations; shorthand and musical controls;
# tags; lone surrogates.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SECOND_SELECTOR = "(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
"""Repeated variation selectors: a single one is part of an emoji, a sequence of them hides text."""

_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Spaces that look like an ordinary space."""

_UNSEEN = re.compile(f"[{_HIDDEN}]+|{_SECOND_SELECTOR}")
_UNSEEN_IN_LINE = re.compile(f"[{_HIDDEN}\t\n]+|{_SECOND_SELECTOR}")
_UNSEEN_OR_SPACE = re.compile(f"[{_HIDDEN}]+|{_SECOND_SELECTOR}|[{_SPACES}]+| +|\t|\n")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters that stand for white space, and those that lines, headings and tokens are drawn with."""

    space: str
    tab: str
    newline: str
    line: str
    ellipsis: str
    middle: str
    trained: tuple[str, str]
    """The brackets around trained tokens."""
    empty: str
    """The sign of a token that covers no text."""


UNICODE = Glyphs("·", "→", "↵", "─", "…", "·", ("⟦", "⟧"), "∅")
ASCII = Glyphs(".", "\\t", "\\n", "-", "...", "-", ("[[", "]]"), "()")


def escaped(text: str) -> str:
    r"""Escape invisible characters as in Python source."""
    return text.encode("unicode_escape").decode("ascii")


def runs(text: str, whitespace: Glyphs | None = None) -> Iterator[tuple[str, int, bool]]:
    """Split a text into parts that are displayed as they are and parts with a replacement, also for white space.

    Each part is the displayed text, the number of characters that it stands for, and true if it is a replacement. The
    replacement of a line feed stands for no character, because the line feed itself follows.
    """
    done = 0
    for match in (_UNSEEN if whitespace is None else _UNSEEN_OR_SPACE).finditer(text):
        start, end = match.span()
        if done < start:
            yield text[done:start], start - done, False
        characters, done = match.group(), end
        if whitespace is not None and characters[0] == " ":
            yield whitespace.space * len(characters), len(characters), True
        elif whitespace is not None and characters == "\t":
            yield whitespace.tab, 1, True
        elif whitespace is not None and characters == "\n":
            yield whitespace.newline, 0, True
            yield "\n", 1, False
        else:
            yield escaped(characters), len(characters), True
    if done < len(text):
        yield text[done:], len(text) - done, False


def one_line(text: str) -> str:
    """Write a name, a label or a role on one line, with invisible characters escaped."""
    return _UNSEEN_IN_LINE.sub(lambda match: escaped(match.group()), text)


def printable(text: str) -> str:
    """Write a message on one line, with all unusual spaces and private characters escaped too, unlike `one_line`."""
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(c if c.isprintable() else escaped(c) for c in one_line(text))


def encodable(text: str, encoding: str | None) -> str:
    """Escape lone surrogates and the characters that a stream's encoding (UTF-8 if it is None) lacks."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def visible(text: str) -> str:
    """Escape the invisible characters of a text, but not its line feeds and tabs."""
    return _UNSEEN.sub(lambda match: escaped(match.group()), text)


def cells(text: str) -> int:
    """Count the cells that a text takes in a terminal: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(cell, text))


def cell(character: str) -> int:
    """Count the cells that a character takes in a terminal."""
    if character < "\u0300":
        return 1
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me") else 1
