"""Prompts as lines of styled fragments, for a terminal or a page of plain text: heading, roles, texts, origins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from promptpress_workbench.prompts.escapes import UNICODE, Glyphs, cell, cells, one_line, runs
from promptpress_workbench.prompts.kinds import ShownKind, described, kind_of, shown_kind, shown_legend, with_speakers
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptText, heading

_TRAILING = re.compile(r"[ \t\xa0]+(?=\n|\Z)")
_TAB_STOP = 8
_EXCERPT = 60

Mark = tuple[int, int, str]
"""The first character of a stretch, the one after its last, and its kind: `match`, `removed`, `added`."""

TextMark = tuple[int | None, int | None, Mark]
"""The numbers of a message and a part, None and None for a bare text, and a mark in that text."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stretch of a line with one style; its characters can be seen, or are tabs and line feeds."""

    text: str
    kind: ShownKind | str = "unknown"
    """The kind of the origin, or `head`, `role` or `text` for texts about a prompt."""
    marks: frozenset[str] = frozenset()
    """Further styles: `match`, `removed`, `added`, `escape` for a replaced character, `trailing` for white space before
    the end of a line."""


Line = list[Fragment]


def marks_of_text(marks: Iterable[TextMark], text: PromptText) -> list[Mark]:
    return [mark for number, part, mark in marks if (number, part) == (text.number, text.part)]


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
    """Mark white space before the end of a line, or of the text."""
    return [(*match.span(), "trailing") for match in _TRAILING.finditer("".join(piece.text for piece in pieces))]


def wrapped(parts: Iterable[Fragment], width: int | None = None) -> Iterator[list[Fragment]]:
    """Yield fragments as lines without line feeds; a text that ends with a line feed has an empty last line.

    A line of more than `width` cells is broken, at a space if there is one in its second half. None breaks no line.
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


@dataclass(frozen=True)
class Layout:
    """Lays out prompts in lines of so many cells, or of any length."""

    width: int | None = None
    glyphs: Glyphs = UNICODE
    whitespace: bool = False
    """Show white space."""
    show_masked: bool = False
    """Show where an answer is hidden, which isn't part of the prompt."""

    def prompt(self, prompt: Prompt, *, marks: Sequence[TextMark] = (), tokens: int | None = None) -> Iterator[Line]:
        """Yield the lines of a prompt: a heading, then its text, or the role and the text of each message."""
        above = heading(prompt, tokens=tokens, separator=f" {self.glyphs.middle} ")
        yield from self.caption(f"{self.glyphs.line * 2} {above}", "head")
        if prompt.request is None:
            return
        for text in with_speakers(prompt).texts():
            yield from self.head(text)
            yield from self.text(text.pieces, marks_of_text(marks, text))

    def head(self, text: PromptText) -> Iterator[Line]:
        """Yield the role of a text's message and the kind of its part; only the first part has the role."""
        heads: list[tuple[str, tuple[tuple[str, object], ...]]] = []
        if (message := text.message) is not None:
            heads += (
                [] if text.part else [(f"[{'(no role)' if message.role is None else message.role}]", message.fields)]
            )
            parts = [] if text.part is None else [message.parts[text.part]]
            heads += [(f"({part.kind or 'part'})", part.fields) for part in parts]
        for name, fields in heads:
            yield from self.caption(name + "".join(f" {key}={value}" for key, value in fields), "role")

    def text(self, pieces: Iterable[Piece], marks: Sequence[Mark] = ()) -> Iterator[Line]:
        """Yield the lines of a text with its marks."""
        pieces = list(pieces)
        glyphs = self.glyphs if self.whitespace else None
        marks = [*marks, *trailing(pieces)] if self.whitespace else marks
        yield from wrapped(fragments(pieces, whitespace=glyphs, marks=marks, show_masked=self.show_masked), self.width)

    def caption(self, text: str, kind: str) -> Iterator[Line]:
        """Yield a text about a prompt, such as its heading, in fragments of one kind; hidden characters are escaped."""
        yield from wrapped([Fragment(one_line(text), kind)], self.width)

    def origins(self, prompt: Prompt) -> Iterator[Line]:
        """Yield a line for each piece: its bytes, its origin in words, and how its text begins."""
        for text in prompt.texts():
            start = 0
            yield from self.head(text)
            for piece in text.pieces:
                end = start + len(piece.text.encode("utf-8", "surrogatepass"))
                quoted = one_line(piece.text[: _EXCERPT + 1]).replace('"', '\\"')
                excerpt = f'"{quoted[:_EXCERPT]}{self.glyphs.ellipsis if len(quoted) > _EXCERPT else ""}"'
                origin = Fragment(one_line(described(piece)), kind_of(piece))
                line = [Fragment(f"  {start}-{end}  ", "head"), origin, Fragment(f"  {excerpt}", "text")]
                yield from wrapped(line, self.width)
                start = end

    def legend(self, prompts: Iterable[Prompt]) -> Iterator[Line]:
        """Yield a line that explains the colours of some prompts; none if nothing is known."""
        parts = []
        for kind, name in shown_legend(prompts):
            parts += [Fragment("  ", "head"), Fragment(one_line(name), kind)]
        if parts:
            yield from wrapped(parts[1:], self.width)
