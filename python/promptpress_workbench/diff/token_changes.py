"""Differences of two sequences of tokens: other ids, or another mask, described so that equal causes are one group.

A description has the tokens that differ and their place relative to the turn. Control tokens, headers and the blanks
next to them are named; text, which is other in each row, is an ellipsis. The cause is what those tokens are in a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from typing import Literal, NamedTuple

from promptpress_workbench.prompts.escapes import UNICODE, runs
from promptpress_workbench.prompts.kinds import NAMED_NEXT, begins_turn, cut
from promptpress_workbench.prompts.token_cells import TokenCell

_TEXT = "…"
_CHANNEL = f"<|channel|>{_TEXT}"
_SAME = 4
"""So many equal tokens after a difference end it."""

_MAX_DIFFERENT = 256
"""The most tokens of a difference, on both sides together, after which equal ones are looked for."""

_LONG, _MANY = 20, 8
"""The tokens of a stretch that may be in the middle of a text, and the control tokens of one that isn't described."""

_HEADER = re.compile(r"[ \t]*(\w+)[ \t]*\n*")
Cause = (
    Literal["truncation", "beginning of the text", "messages", "header", "think block", "tool call"]
    | Literal["text", "text and its end", "end of a turn", "blanks after a turn", "label"]
)
_PARTS: dict[Cause, re.Pattern[str]] = {
    "think block": re.compile("think|thought", re.IGNORECASE),
    "tool call": re.compile("tool", re.IGNORECASE),
}
"""The parts of a turn that control tokens name."""

_Block = tuple[int, int, int, int]


class _Sign(NamedTuple):
    """The text that stands for a token in a description, and true if a control token begins with it."""

    text: str
    is_control: bool


@dataclass(frozen=True)
class TokenChange:
    """A stretch of tokens that isn't the same on both sides, by the numbers of its cells."""

    change: Literal["ids", "mask"]
    description: str
    cause: Cause
    a: tuple[int, int]
    b: tuple[int, int]


def token_changes(a: Sequence[TokenCell], b: Sequence[TokenCell]) -> Iterator[TokenChange]:
    """Yield the stretches in which ids differ, then those of equal ids of which one side alone trains the tokens."""
    signs = _signs(a), _signs(b)
    blocks = list(_blocks([cell.id for cell in a], [cell.id for cell in b]))
    for start, stop, begin, end in blocks:
        where = (start, stop), (begin, end)
        yield TokenChange("ids", *_described(signs, where), *where)
    start = begin = 0
    for block in [*blocks, (len(a), len(a), len(b), len(b))]:
        pairs = enumerate(zip(a[start : block[0]], b[begin : block[2]], strict=True))
        differing = ((index, _only_in(*pair)) for index, pair in pairs)
        for side, stretch in groupby(differing, key=lambda item: item[1]):
            numbers = [index for index, _ in stretch]
            if side is not None:
                first, last = numbers[0], numbers[-1] + 1
                trained = signs[0][start + first : start + last]
                cause = "label" if "label" in side else _cause(signs[0], start + first, [trained])
                where = (start + first, start + last), (begin + first, begin + last)
                text = f"{side}: {_summary(trained)}, {_location(signs[0], start + first)}"
                yield TokenChange("mask", text, cause, *where)
        start, begin = block[1], block[3]


def _only_in(mine: TokenCell, yours: TokenCell) -> str | None:
    """Say which side alone trains a token, or another one in its place; None if neither does, or one doesn't say it."""
    if mine.trained is None or yours.trained is None:
        return None
    if mine.trained != yours.trained:
        return f"trained only in {'A' if mine.trained else 'B'}"
    return None if mine.label == yours.label else f"another label in {'B' if mine.label is None else 'A'}"


def _described(
    signs: tuple[list[_Sign], list[_Sign]], where: tuple[tuple[int, int], tuple[int, int]]
) -> tuple[str, Cause]:
    """Return the description of a stretch of other ids, and its cause."""
    stretches = [of_side[slice(*numbers)] for of_side, numbers in zip(signs, where, strict=True)]
    texts = list(map(_summary, stretches))
    location = _location(signs[0], where[0][0])
    sides = [f"{text} in {side}" for text, side in zip(texts, "AB", strict=True) if text]
    if len(sides) == 2:
        return f"{sides[0]}, {sides[1]}, {location}", _cause(signs[0], where[0][0], stretches)
    number, lacking = (1, "A") if texts[1] else (0, "B")
    (start, stop), (index, _) = where[number], where[1 - number]
    of_lacking = signs[1 - number]
    is_end = stop == len(signs[number])
    if _TEXT in texts[number] and is_end and not (index and _ends_turn(of_lacking[index - 1])):
        return f"{lacking} ends earlier: its text is cut off", "truncation"
    if _TEXT in texts[number] and start == 0 and not (of_lacking and of_lacking[0].is_control):
        return f"{lacking} begins later: its beginning is cut off", "truncation"
    is_long = _TEXT in texts[number] and stop - start > _LONG
    controls = sum(sign.is_control for sign in stretches[number])
    if is_long and not (stretches[number][0].is_control and controls <= _MANY):
        return f"{lacking} lacks a stretch of text, {location}", "text"
    at_end = " at the end," if is_end else ""
    cause = _cause(signs[number], start, [stretches[number]])
    return f"only in {'AB'[number]}: {texts[number]},{at_end} {location}", cause


def _cause(signs: Sequence[_Sign], start: int, stretches: Sequence[Sequence[_Sign]]) -> Cause:
    """Return what stretches of tokens, of which the first begins after some signs of its side, are in a turn."""
    names = [name for stretch in stretches for name in _controls(stretch)]
    before = next(reversed(_controls(signs[:start])), "")
    has_text = any(_TEXT in _summary(stretch).replace(_CHANNEL, "") for stretch in stretches)
    has_header = any(map(begins_turn, names))
    if has_header and has_text:
        return "messages"
    for part, pattern in _PARTS.items():
        if any(map(pattern.search, names)) or (not names and not before.startswith("</") and pattern.search(before)):
            return part
    if has_header or (not names and not has_text and begins_turn(before)):
        return "header"
    if names or not has_text:
        at_start = start == 0 and not has_text
        of_names: Cause = "text and its end" if has_text else "end of a turn"
        return "beginning of the text" if at_start else of_names if names else "blanks after a turn"
    return "text"


def _controls(signs: Sequence[_Sign]) -> list[str]:
    """Return the control tokens among some signs, also those that several tokens spell."""
    return [sign.text for sign in signs if sign.is_control] + [
        name for name, is_control in cut(_summary(signs)) if is_control
    ]


def _ends_turn(sign: _Sign) -> bool:
    """Return true for a control token, and for the template's blanks."""
    return sign.is_control or set(sign.text) <= {UNICODE.newline, UNICODE.space, UNICODE.tab}


def _blocks(a: Sequence[int | None], b: Sequence[int | None]) -> Iterator[_Block]:
    """Yield the stretches in which two sequences differ; after some equal tokens a new one begins."""
    ends = [len(a), len(b)]
    first = next((index for index, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), min(ends))
    while min(ends) > first and a[ends[0] - 1] == b[ends[1] - 1]:
        ends = [end - 1 for end in ends]
    i = j = first
    done = 0
    while i < ends[0] or j < ends[1]:
        if i < ends[0] and j < ends[1] and a[i] == b[j]:
            i, j = i + 1, j + 1
            continue
        stop, end = _resumed(a[i : ends[0]], b[j : ends[1]])
        i, j = i + stop, j + end
        back = 0
        if not stop or not end:  # an insertion begins as early as it can, so that it is a whole message
            longer, last, index = (a, i, i - stop) if stop else (b, j, i)
            while index - back > done and longer[last - back - 1] == a[index - back - 1]:
                back += 1
        yield i - stop - back, i - back, j - end - back, j - back
        done = i


def _resumed(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[int, int]:
    """Return how many tokens of each side stand before the nearest place from which on some are equal."""
    for total in range(1, min(len(a) + len(b), _MAX_DIFFERENT) if a and b else 0):
        for skipped in range(max(total - len(b), 0), min(total, len(a)) + 1):
            mine, yours = a[skipped : skipped + _SAME], b[total - skipped : total - skipped + _SAME]
            if mine == yours and (len(mine) == _SAME or total + 2 * len(mine) == len(a) + len(b)):
                return skipped, total - skipped
    return len(a), len(b)


def _signs(cells: Sequence[TokenCell]) -> list[_Sign]:
    """Return what stands for each cell: its text if it is the template's, else an ellipsis."""
    texts = [cell.text for cell in cells]
    text = "".join(texts)
    stretches = list(cut(text))
    begins = accumulate((len(stretch) for stretch, _ in stretches), initial=0)
    starts = list(accumulate(map(len, texts), initial=0))
    # The control tokens by their first character; text that spells one counts as one.
    controls = {start: name for start, (name, is_control) in zip(begins, stretches, strict=False) if is_control}
    controls |= {start: cell.text for start, cell in zip(starts, cells, strict=False) if cell.is_control}
    is_named = bytearray(len(text))  # of each character
    ordered = sorted(controls.items())
    for (start, name), (following, _) in pairwise([*ordered, (len(text), "")]):
        end = start + len(name)
        between = text[end:following]
        header = _HEADER.match(between) if name in NAMED_NEXT else None
        after = len(between) - len(between.lstrip()) if header is None else header.end()
        before = len(between) - len(between.rstrip())
        for begin, stop in ((start, end + after), (following - before, following)):
            is_named[begin:stop] = b"\1" * (stop - begin)
    signs = []
    for token, (start, stop) in zip(texts, pairwise(starts), strict=True):
        is_template = start < stop and is_named.find(0, start, stop) < 0
        signs.append(_Sign(_visible_text(token) if is_template else _TEXT, start < stop and start in controls))
    return signs


@lru_cache(1024)
def _visible_text(text: str) -> str:
    return "".join(part for part, _, _ in runs(text, UNICODE) if part != "\n")


def _summary(signs: Sequence[_Sign]) -> str:
    """Return what stands for some cells, with runs of the same sign once."""
    return "".join(text for text, _ in groupby(sign.text for sign in signs))


def _location(signs: Sequence[_Sign], index: int) -> str:
    """Describe the place before a cell by the control token before it, and by what stands between."""
    if index == 0:
        return "at the start"
    start = next((number for number in range(index - 1, -1, -1) if signs[number].is_control), 0)
    before, is_text, _ = _summary(signs[start:index]).partition(_TEXT)
    return f"in the text after {before or 'the start'}" if is_text else f"after {before}"
