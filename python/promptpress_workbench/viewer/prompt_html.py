"""The HTML of a row's prompts for the page, alone or compared; `prompts.html` escapes all values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import zip_longest

from promptpress_workbench.diff.changes import changes
from promptpress_workbench.diff.first_difference import first_difference
from promptpress_workbench.diff.layout import location_text
from promptpress_workbench.diff.text_pairs import PairedText, text_pairs
from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.prompts.html import block_html, prompt_html
from promptpress_workbench.prompts.kinds import with_speakers
from promptpress_workbench.prompts.layout import Mark
from promptpress_workbench.prompts.prompt import ContentPart, Piece, Prompt, PromptMessage, heading

MAX_CHARACTERS = 100_000
"""Characters of a row that are sent before a user asks for all of it."""


def rows_html(prompts: Sequence[Prompt], *, whole: bool = False, whitespace: bool = False) -> tuple[str, int]:
    """Return the HTML of the requests of one row, and how many characters were left out unless `whole` is true."""
    short = list(prompts) if whole else list(cut(prompts, MAX_CHARACTERS))
    html = "".join(
        prompt_html(part, whitespace=whitespace, head=heading(prompt))
        for part, prompt in zip(short, prompts, strict=False)
    )
    left = sum(prompt.characters for prompt in prompts) - sum(prompt.characters for prompt in short)
    return html, left


def cut(prompts: Iterable[Prompt], characters: int) -> Iterator[Prompt]:
    """Yield prompts up to a total number of characters; the last one is shortened.

    >>> long = Prompt(0, "abc", (Piece("ab"), Piece("c")))
    >>> [prompt.text for prompt in cut([long, long], 4)]
    ['abc', 'a']

    """
    left = characters
    for prompt in prompts:
        if left <= 0:
            return
        if prompt.characters <= left:
            yield prompt
        elif prompt.messages is None:
            yield replace(prompt, pieces=_pieces(prompt.pieces, left))
        else:
            yield replace(prompt, messages=tuple(_messages(prompt.messages, left)))
        left -= prompt.characters


def _messages(messages: Iterable[PromptMessage], left: int) -> Iterator[PromptMessage]:
    for message in messages:
        if left <= 0:
            return
        parts: list[ContentPart] = []
        within = left
        for part in message.parts:
            if within > 0:
                parts.append(replace(part, pieces=_pieces(part.pieces, within)))
            within -= len(part.text)
        yield replace(message, pieces=_pieces(message.pieces, left), parts=tuple(parts))
        left -= len(message.text)


def _pieces(pieces: Iterable[Piece], left: int) -> tuple[Piece, ...]:
    kept = []
    for piece in pieces:
        if left <= 0:
            break
        kept.append(replace(piece, text=piece.text[:left]))
        left -= len(piece.text)
    return tuple(kept)


def compared_html(
    a: Sequence[Prompt], b: Sequence[Prompt], *, names: tuple[str, str] = ("", ""), whitespace: bool = False
) -> str:
    """Return the requests of a row side by side: paired by label and turn, and their messages by what they share.

    `names` tell the sides apart, in the headings.
    """
    sides = [{(prompt.label, prompt.turn): prompt for prompt in side} for side in (a, b)]
    if a and b and not sides[0].keys() & sides[1].keys():  # labels on one side only
        pairs: list[tuple[Prompt | None, Prompt | None]] = list(zip_longest(a, b))
    else:
        pairs = [(sides[0].get(key), sides[1].get(key)) for key in {**sides[0], **sides[1]}]
    return "".join(_pair(mine, yours, names, whitespace) for mine, yours in pairs)


def _pair(mine: Prompt | None, yours: Prompt | None, names: tuple[str, str], whitespace: bool) -> str:
    prompts = (mine, yours)
    heads = [
        " · ".join(filter(None, [name, "no such prompt" if prompt is None else heading(prompt)]))
        for prompt, name in zip(prompts, names, strict=True)
    ]
    rows = [_row(*(f'<div class="pp-head">{escape(one_line(head))}</div>' for head in heads))]
    if mine is not None and yours is not None:
        location = first_difference(mine, yours)
        caption = "the same on both sides" if location is None else f"differs: {location_text(location, mine)}"
        rows += _rows(with_speakers(mine), with_speakers(yours), whitespace)
    else:
        caption = "only on one side"
        rows.append(_row(*("" if prompt is None else prompt_html(prompt, whitespace=whitespace) for prompt in prompts)))
    return f'<p class="pp-differs">{escape(one_line(caption))}</p><div class="pp-sides">{"".join(rows)}</div>'


def _rows(mine: Prompt, yours: Prompt, whitespace: bool) -> list[str]:
    """Return the texts of two prompts, pair by pair; a text and messages are one pair with all of them."""
    if (mine.messages is None) == (yours.messages is None):
        return [_texts(*pair, whitespace) for pair in text_pairs(mine, yours)]
    marks = changes(mine.text, yours.text)
    cells = ["".join(_blocks(prompt, side, whitespace)) for prompt, side in zip((mine, yours), marks, strict=True)]
    return [_row(*cells)]


def _blocks(prompt: Prompt, marks: Sequence[Mark], whitespace: bool) -> Iterator[str]:
    """Yield the texts of a prompt, with marks that count characters over all of them."""
    start = 0
    for number, part, pieces in prompt.texts():
        text_marks = [(max(begin - start, 0), end - start, kind) for begin, end, kind in marks if end > start]
        message = None if number is None else (prompt.messages or ())[number]
        yield block_html(pieces, message, part, marks=text_marks, whitespace=whitespace)
        start += sum(len(piece.text) for piece in pieces)


def _texts(mine: PairedText | None, yours: PairedText | None, whitespace: bool) -> str:
    """Return two texts that stand side by side."""
    texts = ("" if side is None else side.text for side in (mine, yours))
    cells = [
        "" if side is None else block_html(side.pieces, side.message, side.part, marks=marks, whitespace=whitespace)
        for side, marks in zip((mine, yours), changes(*texts), strict=True)
    ]
    return _row(*cells)


def _row(a: str, b: str) -> str:
    return f'<div class="pp-side">{a}</div><div class="pp-side">{b}</div>'
