"""Differences laid out: side by side, or under each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from promptpress._diff.changes import Window, windows
from promptpress._diff.comparison import Comparison, Difference
from promptpress._diff.places import Place
from promptpress._view.layout import Layout, Line
from promptpress._view.lines import Fragment, fragments, plain, wrapped
from promptpress._view.origins import described
from promptpress._view.prompt import Piece, Prompt, PromptMessage
from promptpress._view.visible import cells

__all__ = ["DiffLayout", "place_text", "summary", "text_of", "which"]

_NARROWEST = 80
"""Cells of a line from which on two texts stand side by side."""

_MAX_SHOWN = 3
"""Differences on a page of text."""

_MAX_LINES = 13
"""Lines that are shown of two prompts that have nothing in common, with the heading."""

_WHAT = {
    "role": "another role",
    "fields": "other fields",
    "parts": "another number of parts",
    "messages": "another number of messages",
    "form": "a text on one side, messages on the other",
    "null": "no prompt on one side",
    "only_a": "only in A",
    "only_b": "only in B",
}
_BRACKETS = {"removed": ("[-", "-]"), "added": ("{+", "+}")}


def summary(found: Comparison) -> str:
    """Say in one line what was found.

    >>> summary(Comparison(compared=3, different=1, only_b=2))
    '3 requests compared, 1 differs; 2 only in B'

    """
    differs = "none differs" if not found.different else f"{found.different:,} differ{'s' * (found.different == 1)}"
    alone = "".join(
        f"; {count:,} only in {side}" for side, count in (("A", found.only_a), ("B", found.only_b)) if count
    )
    return f"{found.compared:,} request{'s' * (found.compared != 1)} compared, {differs}{alone}"


def which(found: Difference, between: str) -> str:
    """Say which request it is.

    Args:
        found: A difference.
        between: What stands between what is said.

    """
    said = [f"row {found.sample}"]
    said += [] if found.label is None else [f"label {found.label}"]
    said += [] if found.turn is None else [f"turn {found.turn}"]
    return between.join(said)


def place_text(place: Place, a: Prompt | None) -> str:
    """Say where two prompts begin to differ, and what stands there.

    Args:
        place: The place.
        a: The first side's prompt, where it is at hand.

    """
    said = []
    if place.message is not None:
        messages = () if a is None else a.messages or ()
        role = messages[place.message].role if place.message < len(messages) else None
        said.append(f"message {place.message}" + ("" if role is None else f" ({role})"))
    if place.part is not None:
        said.append(f"part {place.part}")
    if place.change != "text":
        return ", ".join([*said, _WHAT[place.change]])
    said.append(f"byte {place.start:,}, character {place.character:,}")
    sides = [f"{side}: {_origin(piece)}" for side, piece in (("A", place.a), ("B", place.b))]
    known = [piece for piece in (place.a, place.b) if piece is not None and piece.source is not None]
    return ", ".join(said) + (f" - {'; '.join(sides)}" if known else "")


def _origin(piece: Piece | None) -> str:
    return "its end" if piece is None else described(piece)


def text_of(found: Comparison) -> str:
    """Say what was found, with the prompts that were kept, on a page of text.

    >>> text_of(Comparison(compared=1))
    '1 request compared, none differs'

    """
    layout = DiffLayout(Layout())
    kept = [one for one in found.first if one.a is not None or one.place.change in ("only_a", "only_b")][:_MAX_SHOWN]
    lines = [plain(line) for one in kept for line in layout.difference(one)]
    return "\n".join([summary(found), *lines])


@dataclass(frozen=True)
class DiffLayout:
    """How differences are laid out.

    Args:
        layout: How texts are.
        brackets: Whether what differs stands in brackets, `[-removed-]` and `{+added+}`, for want of colours.

    """

    layout: Layout
    brackets: bool = True

    @property
    def is_wide(self) -> bool:
        """Whether two texts fit side by side."""
        return self.layout.width is not None and self.layout.width >= _NARROWEST

    def difference(self, found: Difference) -> Iterator[Line]:
        """Lay one difference out.

        Args:
            found: A difference, with its prompts where both sides have it.

        Yields:
            Lines: which request, where, and the texts that differ.

        """
        glyphs = self.layout.glyphs
        which = [f"row {found.sample}"]
        which += [f"label {found.label}"] * (found.label is not None) + [f"turn {found.turn}"] * (
            found.turn is not None
        )
        between = f" {glyphs.middle} "
        yield from self.layout.said(f"{glyphs.line * 2} {between.join(which)}", "head")
        yield from self.layout.said(place_text(found.place, found.a), "role")
        if found.a is None or found.b is None:
            return
        if found.place.change in ("form", "null"):
            yield from self._whole(found.a, found.b)
            return
        if self.is_wide:
            yield from self._sides([[Fragment("A", "head")]], [[Fragment("B", "head")]])
        yield from self._messages(found.a, found.b)

    def _whole(self, a: Prompt, b: Prompt) -> Iterator[Line]:
        """Two prompts that have nothing in common: one is a text, the other is messages or null."""
        own = replace(self.layout, width=self._width)
        nothing = [[Fragment("(no prompt)", "head")]]
        mine, yours = (
            nothing if prompt.request is None else list(own.prompt(prompt))[1:_MAX_LINES] for prompt in (a, b)
        )
        yield from self._sides(mine, yours)

    def _messages(self, a: Prompt, b: Prompt) -> Iterator[Line]:
        equal = 0
        for mine, yours in zip_longest(_blocks(a), _blocks(b)):
            if mine is not None and yours is not None and _said(mine) == _said(yours):
                equal += 1
                continue
            yield from self._equal(equal)
            equal = 0
            yield from self._block(mine, yours)
        yield from self._equal(equal)

    def _equal(self, count: int) -> Iterator[Line]:
        if count:
            what = "text that is" if count == 1 else "texts that are"
            yield from self.layout.said(f"({count} {what} equal)", "text")

    def _block(self, mine: _Block | None, yours: _Block | None) -> Iterator[Line]:
        own = replace(self.layout, width=self._width)
        heads = [
            list(own.message_head(block.message, block.part)) if block is not None and block.message is not None else []
            for block in (mine, yours)
        ]
        if any(heads):
            yield from self._sides(*heads)
        shown = windows(() if mine is None else mine.pieces, () if yours is None else yours.pieces)
        texts = [
            self._window(window) if block is not None else []
            for window, block in zip(shown, (mine, yours), strict=True)
        ]
        yield from self._sides(*texts)

    def _window(self, window: Window) -> list[Line]:
        layout = self.layout
        ellipsis = layout.glyphs.ellipsis
        before = [Fragment(f"{ellipsis}({window.before:,} characters) ", "text")] if window.before else []
        after = [Fragment(f" {ellipsis}({window.after:,} characters)", "text")] if window.after else []
        shown = list(
            fragments(window.pieces, whitespace=layout.glyphs if layout.whitespace else None, marks=window.marks)
        )
        if self.brackets:
            shown = _bracketed(shown)
        return list(wrapped([*before, *shown, *after], self._width))

    @property
    def _width(self) -> int | None:
        width = self.layout.width
        if width is None:
            return None
        return (width - 3) // 2 if self.is_wide else width - 2

    def _sides(self, mine: list[Line], yours: list[Line]) -> Iterator[Line]:
        if not self.is_wide:
            for sign, lines in (("-", mine), ("+", yours)):
                for line in lines:
                    yield [Fragment(f"{sign} ", "head"), *line]
            return
        width = self._width or 0
        for number in range(max(len(mine), len(yours))):
            one, other = (lines[number] if number < len(lines) else [] for lines in (mine, yours))
            used = sum(cells(fragment.text) for fragment in one)
            yield [*one, Fragment(" " * (width - used), "text"), Fragment(" | ", "text"), *other]


@dataclass(frozen=True)
class _Block:
    """One text of a prompt, with the message that it is of."""

    pieces: tuple[Piece, ...]
    message: PromptMessage | None = None
    part: int | None = None


def _blocks(prompt: Prompt) -> Iterator[_Block]:
    for number, part, pieces in prompt.texts():
        message = None if number is None else (prompt.messages or ())[number]
        yield _Block(pieces, message, part)


def _said(block: _Block) -> tuple[object, ...]:
    """What a text and its message say, without where it comes from."""
    text = "".join(piece.text for piece in block.pieces)
    message = block.message
    if message is None:
        return (text,)
    part = None if block.part is None else message.parts[block.part]
    beside = None if part is None else (part.kind, str(part.fields))
    return text, message.role, str(message.fields), beside


def _bracketed(shown: list[Fragment]) -> list[Fragment]:
    """Put brackets around what is marked, across pieces."""
    out: list[Fragment] = []
    open_mark: str | None = None
    for fragment in [*shown, Fragment("", "text")]:
        mark = next((mark for mark in _BRACKETS if mark in fragment.marks), None)
        if mark != open_mark:
            if open_mark is not None:
                out.append(Fragment(_BRACKETS[open_mark][1], "text"))
            if mark is not None:
                out.append(Fragment(_BRACKETS[mark][0], "text"))
            open_mark = mark
        out.append(fragment)
    return out
