"""A row of two configurations side by side, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest

from promptpress._diff.changes import changes
from promptpress._diff.places import first_difference
from promptpress._diff.shown import place_text
from promptpress._view.heading import heading
from promptpress._view.html import prompt_html
from promptpress._view.layout import TextMark
from promptpress._view.prompt import Prompt
from promptpress._view.visible import one_line


def compared_html(a: Sequence[Prompt], b: Sequence[Prompt], *, whitespace: bool = False) -> str:
    """Write the requests of a row side by side: those of one label and turn belong together.

    Args:
        a: the requests of one side.
        b: those of the other.
        whitespace: whether white space is shown.

    Returns:
        The HTML.

    """
    keys = list(dict.fromkeys((prompt.label, prompt.turn) for prompt in (*a, *b)))
    if a and b and not set(keys) & {(one.label, one.turn) for one in a} & {(one.label, one.turn) for one in b}:
        pairs: list[tuple[Prompt | None, Prompt | None]] = list(zip_longest(a, b))  # labels here and none there
    else:
        sides = [{(one.label, one.turn): one for one in side} for side in (a, b)]
        pairs = [(sides[0].get(key), sides[1].get(key)) for key in keys]
    return "".join(_pair(one, other, whitespace) for one, other in pairs)


def _pair(one: Prompt | None, other: Prompt | None, whitespace: bool) -> str:
    marks: tuple[list[TextMark], list[TextMark]] = ([], [])
    said = "only on the other side"
    if one is not None and other is not None:
        place = first_difference(one, other)
        said = "the same on both sides" if place is None else f"differs: {place_text(place, one)}"
        marks = _marks(one, other)
    cells = "".join(
        f'<div class="pp-side">{_side(prompt, own, whitespace)}</div>'
        for prompt, own in zip((one, other), marks, strict=True)
    )
    return f'<p class="pp-differs">{escape(one_line(said))}</p><div class="pp-sides">{cells}</div>'


def _side(prompt: Prompt | None, marks: Sequence[TextMark], whitespace: bool) -> str:
    if prompt is None:
        return ""
    return prompt_html(prompt, marks=marks, whitespace=whitespace, head=heading(prompt))


def _marks(one: Prompt, other: Prompt) -> tuple[list[TextMark], list[TextMark]]:
    removed: list[TextMark] = []
    added: list[TextMark] = []
    for mine, yours in zip_longest(one.texts(), other.texts()):
        texts = ["".join(piece.text for piece in side[2]) if side is not None else "" for side in (mine, yours)]
        found = changes(*texts)
        for out, side, marks in zip((removed, added), (mine, yours), found, strict=True):
            if side is not None:
                out += [(side[0], side[1], mark) for mark in marks]
    return removed, added
