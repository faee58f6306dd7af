"""Pieces of a text as lines of styled fragments, for a terminal or a page of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from promptpress_workbench.prompts.chats import ShownKind, shown_kind
from promptpress_workbench.prompts.escapes import Glyphs, cell, cells, one_line, runs
from promptpress_workbench.prompts.prompt import Piece

_TRAILING = re.compile(r"[ \t\xa0]+(?=\n|\Z)")
_TAB_STOP = 8

Mark = tuple[int, int, str]
"""The first character of a stretch, the one after its last, and its kind: `match`, `removed`, `added`."""

TextMark = tuple[int | None, int | None, Mark]
"""The numbers of a message and a part, None and None for a bare text, and a mark in that text."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stretch of a line with one style.

    Args:
        text: Characters that can be seen, tabs and line feeds.
        kind: The kind of the origin, or `head` or `role` for texts about a prompt.
        marks: Further styles: `match`, `removed`, `added`, `escape` for a replaced character, `trailing` for white
            space before the end of a line.

    """

    text: str
    kind: ShownKind | str = "unknown"
    marks: frozenset[str] = frozenset()


def marks_of_text(marks: Iterable[TextMark], message: int | None, part: int | None) -> list[Mark]:
    """Return the marks of one text, by the numbers of its message and part."""
    return [mark for of_message, of_part, mark in marks if (of_message, of_part) == (message, part)]


def fragments(
    pieces: Iterable[Piece],
    *,
    whitespace: Glyphs | None = None,
    marks: Sequence[Mark] = (),
    show_masked: bool = False,
) -> Iterator[Fragment]:
    """Turn the pieces of a text into fragments; each line feed ends one.

    `whitespace` has glyphs for white space, which stays as it is if that is None. Marks may overlap and cross pieces.
    If `show_masked` is true, a hidden answer is shown by the name of its column.

    >>> [fragment.text for fragment in fragments([Piece("a b"), Piece("c")], marks=[(2, 4, "match")])]
    ['a ', 'b', 'c']

    """
    ordered = sorted(mark for mark in marks if mark[0] < mark[1])
    open_marks: list[Mark] = []
    position = following = 0
    for piece in pieces:
        kind = shown_kind(piece)
        if show_masked and piece.masked and not piece.text:
            yield Fragment(f"[masked: {one_line(piece.column or '')}]", kind)
        begin, end = position, position + len(piece.text)
        while position < end:
            while following < len(ordered) and ordered[following][0] <= position:
                open_marks.append(ordered[following])
                following += 1
            open_marks = [mark for mark in open_marks if mark[1] > position]
            next_start = [mark[0] for mark in ordered[following : following + 1]]
            stop = min([end, *(mark[1] for mark in open_marks), *next_start])
            styles = frozenset(mark[2] for mark in open_marks)
            for text, _, is_escape in runs(piece.text[position - begin : stop - begin], whitespace):
                yield Fragment(text, kind, styles | {"escape"} if is_escape else styles)
            position = stop


def trailing(pieces: Iterable[Piece]) -> list[Mark]:
    r"""Mark white space before the end of a line, or of the text.

    >>> trailing([Piece("a "), Piece("\nb")])
    [(1, 2, 'trailing')]

    """
    return [(*match.span(), "trailing") for match in _TRAILING.finditer("".join(piece.text for piece in pieces))]


def wrapped(parts: Iterable[Fragment], width: int | None = None) -> Iterator[list[Fragment]]:
    """Yield fragments as lines without line feeds; a text that ends with a line feed has an empty last line.

    A line of more than `width` cells is broken, at a space if there is one in its second half. None breaks no line.

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
    """Return the text of a line, without styles."""
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
    for index, character in enumerate(text):
        wide = cell(character)
        if used + wide > width and used:
            begin = space if space > begin and 2 * cells(text[begin:space]) > width else index
            starts.append(begin)
            used = cells(text[begin:index])
        used += wide
        if character in " ·":
            space = index + 1
    yield from _cut(line, starts)


def _cut(line: list[Fragment], starts: list[int]) -> Iterator[list[Fragment]]:
    """Cut a line into several, which begin at some of its characters."""
    ends = [*starts[1:], sum(len(fragment.text) for fragment in line)]
    current: list[Fragment] = []
    position = number = 0
    for fragment in line:
        done = 0
        while done < len(fragment.text):
            count = min(len(fragment.text) - done, ends[number] - position)
            current.append(replace(fragment, text=fragment.text[done : done + count]))
            done, position = done + count, position + count
            if position == ends[number]:
                yield current
                current = []
                number += 1
    if current:
        yield current


def _without_tabs(line: list[Fragment]) -> list[Fragment]:
    if not any("\t" in fragment.text for fragment in line):
        return line
    out, used = [], 0
    for fragment in line:
        text = ""
        for part in re.split("(\t)", fragment.text):
            expanded = " " * (_TAB_STOP - used % _TAB_STOP) if part == "\t" else part
            text += expanded
            used += cells(expanded)
        out.append(replace(fragment, text=text))
    return out
