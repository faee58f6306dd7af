"""Pieces laid out in lines: what a terminal shows, in colours or without."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from promptpress._view.origins import Kind, kind_of
from promptpress._view.prompt import Piece
from promptpress._view.visible import Glyphs, cell, cells, one_line, runs

__all__ = ["Fragment", "Mark", "fragments", "plain", "trailing", "wrapped"]

_TRAILING = re.compile(r"[ \t\xa0]+(?=\n|\Z)")
_TAB_STOP = 8

Mark = tuple[int, int, str]
"""First character and the one after the last, within a text, and what they are: `match`, `removed`, `added`."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stretch of a line that looks alike.

    Args:
        text: What is shown: of characters that can be seen, tabs and line feeds.
        kind: The kind of its origin, or `head` and `role` for what is said about a prompt.
        marks: What else it is: `match`, `removed`, `added`, `escape` for what stands for a character, `trailing` for
            white space before the end of a line.

    """

    text: str
    kind: Kind | str = "unknown"
    marks: frozenset[str] = frozenset()


def fragments(
    pieces: Iterable[Piece],
    *,
    whitespace: Glyphs | None = None,
    marks: Sequence[Mark] = (),
    show_masked: bool = False,
) -> Iterator[Fragment]:
    """Turn a text's pieces into what is shown of them.

    Args:
        pieces: The text.
        whitespace: What white space is shown as; None leaves it as it is.
        marks: Stretches of the text that are marked; they may lie across pieces and each other.
        show_masked: Whether the name of the column stands where an answer is hidden.

    Returns:
        Fragments; each line feed ends one.

    >>> [fragment.text for fragment in fragments([Piece("a b"), Piece("c")], marks=[(2, 4, "match")])]
    ['a ', 'b', 'c']

    """
    every = sorted(mark for mark in marks if mark[0] < mark[1])
    open_marks: list[Mark] = []
    at = following = 0
    for piece in pieces:
        kind = kind_of(piece)
        if show_masked and piece.masked and not piece.text:
            yield Fragment(f"[masked: {one_line(piece.column or '')}]", kind)
        end = at + len(piece.text)
        begin = at
        while at < end:
            while following < len(every) and every[following][0] <= at:
                open_marks.append(every[following])
                following += 1
            open_marks = [mark for mark in open_marks if mark[1] > at]
            stop = min(
                [end, *(mark[1] for mark in open_marks), *(mark[0] for mark in every[following : following + 1])]
            )
            here = frozenset(mark[2] for mark in open_marks)
            for shown, _, is_escape in runs(piece.text[at - begin : stop - begin], whitespace):
                yield Fragment(shown, kind, here | {"escape"} if is_escape else here)
            at = stop


def trailing(pieces: Iterable[Piece]) -> list[Mark]:
    r"""Mark white space before the end of a line, or of the text.

    >>> trailing([Piece("a "), Piece("\nb")])
    [(1, 2, 'trailing')]

    """
    return [(*found.span(), "trailing") for found in _TRAILING.finditer("".join(piece.text for piece in pieces))]


def wrapped(parts: Iterable[Fragment], width: int | None = None) -> Iterator[list[Fragment]]:
    """Lay fragments out in lines.

    Args:
        parts: As `fragments` gives them.
        width: Cells of a line; longer ones are broken, at a space where there is one in their second half. None breaks
            at line feeds only.

    Returns:
        The lines, without line feeds. A text that ends with a line feed has an empty last line.

    >>> [plain(line) for line in wrapped([Fragment("one two three")], 8)]
    ['one two ', 'three']
    >>> [plain(line) for line in wrapped([Fragment("日本語")], 5)]
    ['日本', '語']

    """
    line: list[Fragment] = []
    for part in parts:
        first, *others = part.text.split("\n")
        if first:
            line.append(replace(part, text=first) if others else part)
        for text in others:
            yield from _broken(line, width)
            line = [replace(part, text=text)] if text else []
    yield from _broken(line, width)


def plain(line: Iterable[Fragment]) -> str:
    """What a line says, without its looks."""
    return "".join(fragment.text for fragment in line)


def _broken(line: list[Fragment], width: int | None) -> Iterator[list[Fragment]]:
    if width is None:
        yield line
        return
    line = _without_tabs(line)
    if sum(cells(fragment.text) for fragment in line) <= width:
        yield line
        return
    text = plain(line)
    starts, used, space, begin = [0], 0, 0, 0
    for at, character in enumerate(text):
        wide = cell(character)
        if used + wide > width and used:
            begin = space if space > begin and 2 * cells(text[begin:space]) > width else at
            starts.append(begin)
            used = cells(text[begin:at])
        used += wide
        if character in " ·":
            space = at + 1
    yield from _cut(line, starts)


def _cut(line: list[Fragment], starts: list[int]) -> Iterator[list[Fragment]]:
    """A line in several, which begin at some of its characters."""
    ends = [*starts[1:], sum(len(fragment.text) for fragment in line)]
    now: list[Fragment] = []
    at = number = 0
    for fragment in line:
        done = 0
        while done < len(fragment.text):
            take = min(len(fragment.text) - done, ends[number] - at)
            now.append(replace(fragment, text=fragment.text[done : done + take]))
            done, at = done + take, at + take
            if at == ends[number]:
                yield now
                now = []
                number += 1
    if now:
        yield now


def _without_tabs(line: list[Fragment]) -> list[Fragment]:
    if not any("\t" in fragment.text for fragment in line):
        return line
    out, used = [], 0
    for fragment in line:
        text = ""
        for part in re.split("(\t)", fragment.text):
            shown = " " * (_TAB_STOP - used % _TAB_STOP) if part == "\t" else part
            text += shown
            used += cells(shown)
        out.append(replace(fragment, text=text))
    return out
