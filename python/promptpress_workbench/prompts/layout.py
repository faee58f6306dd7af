"""Prompts as lines of styled fragments, for a terminal or a page of plain text, and as HTML made of such fragments.

Nothing of a prompt is ever markup: texts are escaped, characters that can't be seen are shown, and there is no script.
All classes begin with `pp-`; `STYLESHEET` of `stylesheet.py` styles them, light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from promptpress_workbench.prompts.escapes import UNICODE, Glyphs, cell, cells, one_line, runs
from promptpress_workbench.prompts.failed_rows import REMEDY, value_text
from promptpress_workbench.prompts.kinds import (
    ShownKind,
    caption,
    described,
    kind_of,
    shown_kind,
    shown_legend,
    with_speakers,
)
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptText, heading, message_counts
from promptpress_workbench.prompts.stylesheet import FONT
from promptpress_workbench.prompts.token_cells import TokenCell

_TRAILING = re.compile(r"[ \t\xa0]+(?=\n|\Z)")
_TAB_STOP = 8
_SIGNS = (re.compile(r"^(\[\[|\]\])$"), re.compile("([·→↵∅⟦⟧])"))
"""Texts that could be taken for signs of ASCII and of Unicode: spaces and full stops of ASCII are too common."""

_NOT_IN_THE_PROMPT = "not in the prompt:"
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
    the end of a line; of tokens `trained`, `padding` and `wrong`."""


Line = list[Fragment]


def marks_of_text(marks: Iterable[TextMark], text: PromptText) -> list[Mark]:
    return [mark for number, part, mark in marks if (number, part) == (text.number, text.part)]


def fragments(
    pieces: Iterable[Piece], *, whitespace: Glyphs | None = None, marks: Sequence[Mark] = (), show_masked: bool = False
) -> Iterator[Fragment]:
    """Turn the pieces of a text into fragments, with glyphs for white space; marks may overlap and cross pieces."""
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


def cell_fragments(
    text: PromptText, glyphs: Glyphs, marks: Sequence[Mark] = (), *, ids: bool = False, is_plain: bool = False
) -> Iterator[tuple[TokenCell, Piece | None, list[Fragment]]]:
    """Yield the cells of a text, each with its piece and with its text, in which white space and lone bytes are shown.

    Without styles (`is_plain`), a text that could be taken for a sign is escaped: the brackets around trained tokens,
    and the characters that stand for white space and for tokens without text.
    """
    signs = _SIGNS[glyphs is UNICODE] if is_plain else None
    for token, piece in text.cells_with_pieces():
        kind: ShownKind | str = "control" if token.is_control else "unknown" if piece is None else shown_kind(piece)
        names = {
            "trained": token.trained,
            "padding": token.is_padding,
            "wrong": token.is_unknown or token.label is not None,
        }
        of_cell = [mark[2] for mark in marks if mark[0] < max(token.stop, token.start + 1) and mark[1] > token.start]
        styles = frozenset([*of_cell, *(name for name, has in names.items() if has)])
        excerpt = []
        for part in () if token.is_unknown else re.split("([\udc80-\udcff])", token.text):
            if "\udc80" <= part <= "\udcff":
                excerpt.append(Fragment(f"\\x{ord(part) - 0xDC00:02x}", kind, styles | {"escape"}))
                continue
            for displayed, _, is_escape in runs(part, glyphs):
                texts = [displayed] if signs is None or is_escape else signs.split(displayed)
                for number, excerpted in enumerate(texts):
                    of_text = styles | {"escape"} if is_escape or number % 2 else styles
                    written = "".join(f"\\u{ord(each):04x}" for each in excerpted) if number % 2 else excerpted
                    excerpt += [Fragment(written, kind, of_text)] if written not in ("", "\n") else []
        if token.is_unknown:  # a space stands in no other token
            excerpt.append(Fragment(f"(no token {token.id})", kind, styles))
        if not token.is_token:
            excerpt = [Fragment("( ", "text"), *excerpt, Fragment(" )", "text")]
        if token.label is not None:
            excerpt.append(Fragment(f" (trained as {token.label})", kind, styles))
        if ids and token.name is not None:
            excerpt.append(Fragment(f"#{token.id}", "text", styles))
        yield token, piece, excerpt or [Fragment(glyphs.empty, kind, styles | {"escape"})]


def _spaced(
    cells: Iterable[tuple[TokenCell, Piece | None, list[Fragment]]], glyphs: Glyphs, *, brackets: bool
) -> Iterator[Fragment]:
    """Put a space between cells, a line feed after one that has some, and maybe brackets around trained ones."""
    gap, is_open = "", False
    ordered = list(cells)
    for index, (token, _, excerpt) in enumerate(ordered):
        if brackets and token.trained and not is_open:
            yield Fragment(gap + glyphs.trained[0], "head")
            gap, is_open = " ", True
        yield Fragment(gap, "head")
        yield from excerpt
        if is_open and not (index + 1 < len(ordered) and ordered[index + 1][0].trained):
            yield Fragment(f" {glyphs.trained[1]}", "head")
            is_open = False
        gap = "" if "\n" in token.text else " "
        if not gap:
            yield Fragment("\n", "head")


def trailing(pieces: Iterable[Piece]) -> list[Mark]:
    """Mark white space before the end of a line, or of the text."""
    return [(*match.span(), "trailing") for match in _TRAILING.finditer("".join(piece.text for piece in pieces))]


def wrapped(parts: Iterable[Fragment], width: int | None = None) -> Iterator[list[Fragment]]:
    """Yield lines of at most `width` cells, broken at spaces if possible; a final line feed gives an empty line."""
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
    is_colored: bool = False
    """Colours tell the kinds: hidden answers are shown, which aren't part of the prompt, and no token has brackets."""
    ids: bool = False
    """Show the ids of tokens."""
    tokens: bool = True
    """Draw the tokens of prompts that have some; else they are only counted."""
    remedy: str = REMEDY
    """The remedy for a row that can't be rendered."""

    def prompt(self, prompt: Prompt, *, marks: Sequence[TextMark] = ()) -> Iterator[Line]:
        """Yield the lines of a prompt: a heading, then its text, or the role and the text of each message."""
        above = heading(prompt, separator=f" {self.glyphs.middle} ")
        yield from self.caption(f"{self.glyphs.line * 2} {above}", "head")
        if prompt.request is None:
            yield from self._failed(prompt)
            return
        for text in with_speakers(prompt).texts():
            yield from self.head(text)
            if text.cells is None or not self.tokens:
                yield from self.text(text.pieces, marks_of_text(marks, text))
            else:
                yield from self.cells(text, marks_of_text(marks, text))
        if counts := message_counts(prompt):
            yield from self.caption(counts, "text")
        for what in prompt.left_out:
            yield from self.caption(f"{_NOT_IN_THE_PROMPT} {what}", "masked")

    def _failed(self, prompt: Prompt) -> Iterator[Line]:
        """Yield the values of a row that can't be rendered, and what to do about it."""
        for name, value in prompt.values:
            yield from self.caption(f"({name})", "role")
            yield from self.text([Piece(value_text(value))])
        if prompt.values:
            yield from self.caption(f"to do: {self.remedy}", "text")

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
        yield from wrapped(fragments(pieces, whitespace=glyphs, marks=marks, show_masked=self.is_colored), self.width)

    def cells(self, text: PromptText, marks: Sequence[Mark] = ()) -> Iterator[Line]:
        """Yield the lines of a text whose tokens stand apart."""
        cells = cell_fragments(text, self.glyphs, marks, ids=self.ids, is_plain=not self.is_colored)
        lines = list(wrapped(_spaced(cells, self.glyphs, brackets=not self.is_colored), self.width))
        yield from lines[: -1 if len(lines) > 1 and not lines[-1] else None]  # the last line feed is seen already

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
        prompts = list(prompts)
        parts = self._legend_of_cells([cell for prompt in prompts for cells in prompt.cells for cell in cells])
        for kind, name in shown_legend(prompts) if self.is_colored else ():
            parts += [Fragment("  ", "head"), Fragment(one_line(name), kind)]
        if parts:
            yield from wrapped(parts[1:], self.width)

    def _legend_of_cells(self, cells: Sequence[TokenCell]) -> list[Fragment]:
        if not cells or not self.tokens:
            return []
        glyphs = self.glyphs
        white = f"{glyphs.space} space  {glyphs.tab} tab  {glyphs.newline} line feed"
        parts = [Fragment("  ", "head"), Fragment(f"tokens stand apart  {white}", "text")]
        if any(cell.trained for cell in cells):
            name = "trained" if self.is_colored else f"{glyphs.trained[0]} trained {glyphs.trained[1]}"
            parts += [Fragment("  ", "head"), Fragment(name, "unknown", frozenset(["trained"]))]
        return parts


def pieces_html(pieces: Iterable[Piece], *, marks: Sequence[Mark] = (), whitespace: bool = False) -> str:
    """Return the pieces of a text as spans with their origins in attributes, and marks (`pp-match`, ...) as classes."""
    out = []
    position = 0
    pieces = list(pieces)
    marks = [*marks, *(trailing(pieces) if whitespace else ())]
    for piece in pieces:
        begin, position = position, position + len(piece.text)
        piece_marks = [
            (max(start, begin) - begin, min(stop, position) - begin, kind)
            for start, stop, kind in marks
            if start < position and stop > begin
        ]
        inner = ""
        for part in fragments([piece], marks=piece_marks, whitespace=UNICODE if whitespace else None, show_masked=True):
            text = escape(part.text)
            classes = " ".join(f"pp-{mark}" for mark in sorted(part.marks))
            inner += f'<span class="{classes}">{text}</span>' if classes else text
        out.append(_piece(piece, inner))
    return "".join(out)


def text_html(inner: str) -> str:
    """Return the HTML of pieces as a block of text.

    The font is set on the element itself, because notebooks have rules for `pre` that win over a class.
    """
    return f'<pre class="pp-text" style="font:{FONT};text-align:left;word-break:normal">{inner}</pre>'


def prompt_html(
    prompt: Prompt,
    *,
    marks: Sequence[TextMark] = (),
    whitespace: bool = False,
    head: str | None = None,
    ids: bool = False,
) -> str:
    """Return a prompt as a `div`, for a page that has `STYLESHEET`, below `head` or the prompt's `heading`."""
    out = [f'<div class="pp-prompt"><div class="pp-head">{safe(heading(prompt) if head is None else head)}</div>']
    if prompt.request is None:
        out += _failed_html(prompt)
    else:
        out += [
            block_html(text, marks_of_text(marks, text), whitespace=whitespace, ids=ids)
            for text in with_speakers(prompt).texts()
        ]
        counts = message_counts(prompt)
        out += [] if counts is None else [f'<div class="pp-field">{safe(counts)}</div>']
        out += [f'<div class="pp-field">{safe(f"{_NOT_IN_THE_PROMPT} {what}")}</div>' for what in prompt.left_out]
    return "".join([*out, "</div>"])


def _failed_html(prompt: Prompt) -> Iterator[str]:
    """Yield the values of a row that can't be rendered, and what to do about it."""
    for name, value in prompt.values:
        block = text_html(pieces_html([Piece(value_text(value))]))
        yield f'<div class="pp-message">{span_html("role", f"({name})")}{block}</div>'
    if prompt.values:
        yield f'<div class="pp-field">{safe(f"to do: {REMEDY}")}</div>'


def cells_html(text: PromptText, marks: Sequence[Mark] = (), *, ids: bool = False) -> str:
    """Return the tokens of a text as spans, with their ids and origins in titles, or with the ids below them."""
    out = ""
    for token, piece, excerpt in cell_fragments(text, UNICODE, marks):
        classes = " ".join(f"pp-{name}" for name in (excerpt[0].kind, *sorted(excerpt[0].marks - {"escape"})))
        inner = "".join(
            span_html("escape", part.text) if "escape" in part.marks else escape(part.text) for part in excerpt
        )
        notes = [f"id {token.id}" if token.is_token else "no token", "trained" if token.trained else None]
        notes += ["control token" if token.is_control else None, "padding" if token.is_padding else None]
        notes += [None if piece is None else caption(piece)]
        number = f"<sub>{token.id}</sub>" if ids and token.is_token else ""
        title = safe(" · ".join(filter(None, notes)))
        out += f'<span class="{"pp-cell " * token.is_token}{classes}" title="{title}">{inner}{number}</span>'
        out += "\n" if "\n" in token.text else ""
    return out


def block_html(text: PromptText, marks: Sequence[Mark] = (), *, whitespace: bool = False, ids: bool = False) -> str:
    """Return one text of a prompt, below the role of its message and the kind of its part if it has them."""
    if text.cells is not None:
        block = text_html(cells_html(text, marks, ids=ids))
    else:
        block = text_html(pieces_html(text.pieces, marks=marks, whitespace=whitespace))
    if (message := text.message) is None:
        return block
    head = "" if text.part or message.role is None else span_html("role", message.role)
    head += "" if text.part else _fields(message.fields)
    if text.part is not None:
        part = message.parts[text.part]
        head += span_html("role", part.kind) + _fields(part.fields)
    return f'<div class="pp-message">{head}{block}</div>'


def legend_html(prompts: Iterable[Prompt]) -> str:
    """Return a `div` of class `pp-legend` that explains the colours of some prompts; nothing if nothing is known."""
    prompts = list(prompts)
    spans = "".join(span_html(f"piece pp-{kind}", name) for kind, name in shown_legend(prompts))
    if any(cell.trained for prompt in prompts for cells in prompt.cells for cell in cells):
        spans += span_html("piece pp-cell pp-trained", "trained token")
    return f'<div class="pp-legend">{spans}</div>' if spans else ""


def _piece(piece: Piece, inner: str) -> str:
    masked = " pp-masked-place" if piece.masked and not piece.text else ""
    text = caption(piece)
    title = "" if text is None else f' title="{safe(text)}"'
    values = {name: getattr(piece, name) for name in ("source", "column", "example", "role")}
    data = "".join(f' data-{name}="{safe(value)}"' for name, value in values.items() if value is not None)
    return f'<span class="pp-piece pp-{shown_kind(piece)}{masked}"{title}{data}>{inner}</span>'


def span_html(kind: str, text: str) -> str:
    return f'<span class="pp-{kind}">{safe(text)}</span>'


def _fields(fields: Iterable[tuple[str, Any]]) -> str:
    return "".join(span_html("field", f"{name}: {value}") for name, value in fields)


def safe(text: object) -> str:
    """Return a name, a label or another short text on one line, for an element or an attribute."""
    return escape(one_line(str(text)))
