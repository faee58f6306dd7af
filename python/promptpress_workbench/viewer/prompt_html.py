"""The HTML of a row's prompts, alone or compared, with its other columns; and chosen rows as a file of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import zip_longest
from typing import Any

from promptpress import DataError

from promptpress_workbench.diff.diff import location_text
from promptpress_workbench.diff.differences import changes, first_difference, text_pairs
from promptpress_workbench.files.write.output_file import output_file
from promptpress_workbench.prompts.escapes import visible
from promptpress_workbench.prompts.kinds import with_speakers
from promptpress_workbench.prompts.layout import Mark, block_html, legend_html, prompt_html, safe
from promptpress_workbench.prompts.prompt import (
    ContentPart,
    Piece,
    Prompt,
    PromptMessage,
    PromptText,
    heading,
    request_names,
)
from promptpress_workbench.prompts.stylesheet import STYLESHEET
from promptpress_workbench.viewer.search import value_text
from promptpress_workbench.viewer.sources import Choice, SampleStore, Sources

MAX_CHARACTERS = 100_000
"""Characters of a row that are sent before a user asks for all of it."""

_MAX_TEXT = 2000
_STYLE = """\
body{max-width:60em;margin:2em auto;padding:0 1em;font:14px/1.5 system-ui,sans-serif;color-scheme:light dark;\
background:Canvas;color:CanvasText}
h1{font-size:1.2em;overflow-wrap:anywhere} .pp-said{opacity:.75} .pp-wrong{color:#d33f49}
"""


def rows_html(
    prompts: Sequence[Prompt], *, whole: bool = False, whitespace: bool = False, ids: bool = False
) -> tuple[str, int]:
    """Return the HTML of the requests of one row, and how many characters were left out unless `whole` is true."""
    short = list(prompts) if whole else list(cut(prompts, MAX_CHARACTERS))
    html = ""
    for part, prompt in zip(short, prompts, strict=False):
        html += "" if prompt.error is None else f'<p class="pp-wrong">{safe(prompt.error)}</p>'
        html += prompt_html(part, whitespace=whitespace, head=_head(prompt), ids=ids)
    left = sum(prompt.characters for prompt in prompts) - sum(prompt.characters for prompt in short)
    return html, left


def _head(prompt: Prompt) -> str:
    """Return the heading of a prompt; the error of one that can't be rendered stands elsewhere."""
    if prompt.error is None:
        return heading(prompt)
    return " · ".join([*request_names(prompt.sample, prompt.label, prompt.turn), "can't be rendered"])


def cut(prompts: Iterable[Prompt], characters: int) -> Iterator[Prompt]:
    """Yield prompts up to a total number of characters; the last one is shortened."""
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
    """Return the requests of a row side by side, paired by label and turn, and their messages by what they share."""
    sides = [{(prompt.label, prompt.turn): prompt for prompt in side} for side in (a, b)]
    if a and b and not sides[0].keys() & sides[1].keys():  # labels on one side only
        pairs: list[tuple[Prompt | None, Prompt | None]] = list(zip_longest(a, b))
    else:
        pairs = [(sides[0].get(key), sides[1].get(key)) for key in {**sides[0], **sides[1]}]
    return "".join(_pair(mine, yours, names, whitespace) for mine, yours in pairs)


def _pair(mine: Prompt | None, yours: Prompt | None, names: tuple[str, str], whitespace: bool) -> str:
    prompts = (mine, yours)
    heads = [
        " · ".join(filter(None, [name, "no such prompt" if prompt is None else _head(prompt)]))
        for prompt, name in zip(prompts, names, strict=True)
    ]
    rows = [_row(*(f'<div class="pp-head">{safe(head)}</div>' for head in heads))]
    caption = "only on one side"
    if mine is not None and yours is not None:
        location = first_difference(mine, yours)
        caption = "the same on both sides" if location is None else f"differs: {location_text(location, mine)}"
    if mine is None or yours is None or mine.error or yours.error:
        rows.append(
            _row(*("" if prompt is None else rows_html([prompt], whitespace=whitespace)[0] for prompt in prompts))
        )
    else:
        rows += _rows(with_speakers(mine), with_speakers(yours), whitespace)
    return f'<p class="pp-differs">{safe(caption)}</p><div class="pp-sides">{"".join(rows)}</div>'


def _rows(mine: Prompt, yours: Prompt, whitespace: bool) -> list[str]:
    """Return the texts of two prompts, pair by pair; a text and messages are one pair with all of them."""
    if (mine.messages is None) == (yours.messages is None):
        return [_texts(*pair, whitespace) for pair in text_pairs(mine, yours)]
    marks = changes(mine.text, yours.text)
    sides = zip((mine, yours), marks, strict=True)
    return [_row(*("".join(_blocks(prompt, of_side, whitespace)) for prompt, of_side in sides))]


def _blocks(prompt: Prompt, marks: Sequence[Mark], whitespace: bool) -> Iterator[str]:
    """Yield the texts of a prompt, with marks that count characters over all of them."""
    start = 0
    for text in prompt.texts():
        text_marks = [(max(begin - start, 0), end - start, kind) for begin, end, kind in marks if end > start]
        yield block_html(text, text_marks, whitespace=whitespace)
        start += len(text.text)


def _texts(mine: PromptText | None, yours: PromptText | None, whitespace: bool) -> str:
    """Return two texts that stand side by side."""
    sides = (mine, yours)
    marks = changes(*("" if side is None else side.text for side in sides))
    pairs = zip(sides, marks, strict=True)
    return _row(*("" if side is None else block_html(side, of_side, whitespace=whitespace) for side, of_side in pairs))


def _row(a: str, b: str) -> str:
    return f'<div class="pp-side">{a}</div><div class="pp-side">{b}</div>'


def columns_html(values: Mapping[str, Any], prompts: Sequence[Prompt]) -> str:
    """Return the names and values of the columns that no prompt of the row shows; nothing if there are none."""
    in_prompt: set[str | None] = {name for prompt in prompts for name, _ in prompt.values}
    pieces = (piece for prompt in prompts for piece in prompt.all_pieces())
    in_prompt |= {piece.column for piece in pieces if piece.example is None and not piece.masked}
    rows = [
        f"<dt>{safe(name)}</dt><dd>{escape(visible(_cut_value(value)))}</dd>"
        for name, value in values.items()
        if name not in in_prompt
    ]
    return f'<dl class="pp-values">{"".join(rows)}</dl>' if rows else ""


def _cut_value(value: Any) -> str:
    text = value_text(value)
    left = len(text) - _MAX_TEXT
    return text if left <= 0 else f"{text[:_MAX_TEXT]}… {left:,} more characters"


def copied_text(prompts: Iterable[Prompt]) -> str:
    """Return the requests of a row as they are sent: a text as it is, messages as JSON, an error as its reason."""
    requests = [prompt.error if prompt.request is None else prompt.request for prompt in prompts]
    texts = (item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, indent=2) for item in requests)
    return "\n\n".join(texts)


def write_html(
    path: str, rows: Sequence[int] | None, store: SampleStore, sources: Sources, choice: Choice, *, title: str
) -> int:
    """Write some rows, or the first ten, as a page that needs no other file and runs no script; return their number."""
    source = sources.of(choice)
    count = 10 if rows is None else max(rows, default=-1) + 1
    if not store.wait(count) and store.error is not None:
        raise DataError(store.error)
    if rows is None:
        rows = range(min(10, source.num_samples))
    prompts = [sources.prompts(choice, row) for row in rows]
    with output_file(path) as file:
        file.write(page_html(prompts, choice, title=title, ids=sources.shows_ids))
    return len(prompts)


def page_html(rows: Sequence[Sequence[Prompt]], choice: Choice, *, title: str, ids: bool = False) -> bytes:
    """Return the prompts of some rows as a page that needs no other file and runs no script."""
    parts = (choice.model, choice.mode, choice.output, choice.substitution)
    caption = " · ".join(part for part in parts if part)
    details = f'<p class="pp-said">{safe(caption)}</p>' if caption else ""
    legend = legend_html(prompt for of_row in rows for prompt in of_row)
    body = "\n".join(rows_html(of_row, whole=True, ids=ids)[0] for of_row in rows)
    title = safe(title)
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title>\n<style>\n{_STYLE}{STYLESHEET}</style></head>\n"
        f"<body><h1>{title}</h1>{details}\n{legend}\n{body}\n</body></html>\n"
    )
    return page.encode("utf-8", "backslashreplace")
