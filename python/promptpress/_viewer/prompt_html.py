"""What the page shows of prompts, as HTML: everything of theirs is escaped by `promptpress._view.html`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from promptpress._view.heading import heading
from promptpress._view.html import legend_html, prompt_html, stylesheet_under
from promptpress._view.prompt import ContentPart, Piece, Prompt, PromptMessage

SHOWN = 100_000
"""Characters of a row that are shown before someone asks for all of it."""


def rows_html(prompts: Sequence[Prompt], *, whole: bool = False, whitespace: bool = False) -> tuple[str, int]:
    """Write the requests of one row.

    Args:
        prompts: the requests.
        whole: whether all of them is written, however long.
        whitespace: whether white space is shown.

    Returns:
        The HTML, and how many characters were left out.

    """
    shown = list(prompts) if whole else list(cut(prompts, SHOWN))
    html = "".join(_one(short, prompt, whitespace) for short, prompt in zip(shown, prompts, strict=False))
    left = sum(prompt.characters for prompt in prompts) - sum(prompt.characters for prompt in shown)
    return html, left


def _one(short: Prompt, prompt: Prompt, whitespace: bool) -> str:
    return prompt_html(short, whitespace=whitespace, head=heading(prompt))


def page_stylesheet() -> str:
    """Give the looks of prompts for a page whose body says whether it is dark."""
    return stylesheet_under("body.body--light", "body.body--dark")


def rows_legend(prompts: Sequence[Prompt]) -> str:
    """Write what the colours of some requests mean."""
    return legend_html(prompts)


def cut(prompts: Iterable[Prompt], characters: int) -> Iterator[Prompt]:
    """Give prompts up to a number of characters altogether; the one in which it is reached ends there.

    Args:
        prompts: the prompts.
        characters: how many.

    Yields:
        The prompts, the last one shortened.

    Example:
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
