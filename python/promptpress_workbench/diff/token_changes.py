"""Differences of two sequences of tokens: other ids, or another mask, described so that equal causes are one group.

A description has the tokens that differ and their place relative to the turn. Control tokens, headers and the blanks
next to them are named; text, which is other in each row, is an ellipsis. The cause is what those tokens are in a turn.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from operator import eq
from typing import Literal, NamedTuple

from promptpress_workbench.prompts.escapes import UNICODE, runs
from promptpress_workbench.prompts.kinds import NAMED_NEXT, begins_turn, cut
from promptpress_workbench.prompts.token_cells import TokenCell

_TEXT = "…"
_CHANNEL = f"<|channel|>{_TEXT}"
_SAME = 4
"""So many equal tokens after a difference end it."""

_MANY = 4
"""The most control tokens of a stretch that are described."""

_HEADER = re.compile(r"[ \t]*(\w+)[ \t]*\n*")
Cause = (
    Literal["vocabulary", "truncation", "beginning of the text", "messages", "header", "think block", "tool call"]
    | Literal["text", "text and its end", "end of a turn", "blanks after a turn", "label"]
)
_PARTS: dict[Cause, re.Pattern[str]] = {
    "think block": re.compile("think|thought", re.IGNORECASE),
    "tool call": re.compile("tool", re.IGNORECASE),
}
"""The parts of a turn that control tokens name."""
_CLOSES = re.compile(r"^\W*/|(?<![a-z])end(?![a-z])", re.IGNORECASE)
_BLANKS = {UNICODE.newline, UNICODE.space, UNICODE.tab}
_INNER = re.compile("[{0}]*{1}[{0}]*".format("".join(_BLANKS), _TEXT))
"""The text between two tags, with the blanks at its edges, which depend on its last token."""

_Block = tuple[int, int, int, int]


class _Sign(NamedTuple):
    """The text that stands for a token in a description, and the control token that begins with it, or nothing."""

    text: str
    control: str


class _Side(NamedTuple):
    ids: list[int | None]
    signs: list[_Sign]


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
    for name in [name for name, cells in (("A", a), ("B", b)) if any(cell.is_unknown for cell in cells)]:
        text = f"{name} holds ids that this vocabulary lacks: another tokenizer?"
        yield TokenChange("ids", text, "vocabulary", (0, len(a)), (0, len(b)))
        return
    signs = _signs(a), _signs(b)
    sides = [_Side([cell.id for cell in cells], of_side) for cells, of_side in zip((a, b), signs, strict=True)]
    blocks = list(_blocks(*sides))
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
    is_end = [stop == len(of_side) for (_, stop), of_side in zip(where, signs, strict=True)]
    for side, lacking in enumerate("AB"):
        (start, _), other = where[side], stretches[1 - side]
        is_short = not texts[side] or (_has_turn(signs[side][:start]) and _has_turn(other) > _has_turn(stretches[side]))
        if is_short and all(is_end) and any(sign.text == _TEXT for sign in other):
            return f"{lacking} ends earlier: its text is cut off", "truncation"
    sides = [f"{text} in {side}" for text, side in zip(texts, "AB", strict=True) if text]
    if len(sides) == 2:
        return f"{sides[0]}, {sides[1]}, {location}", _cause(signs[0], where[0][0], stretches)
    number, lacking = (1, "A") if texts[1] else (0, "B")
    start, of_lacking = where[number][0], signs[1 - number]
    if _TEXT in texts[number] and start == 0 and not (of_lacking and begins_turn(of_lacking[0].control)):
        return f"{lacking} begins later: its beginning is cut off", "truncation"
    at_end = " at the end," if is_end[number] else ""
    cause = _cause(signs[number], start, [stretches[number]])
    text = _INNER.sub(_TEXT, texts[number]) if cause == "think block" else texts[number]
    if _opens(stretches[number][0]) and is_end[number] and not is_end[1 - number]:
        text, at_end = f"{stretches[number][0].control}{_TEXT}", " cut off,"
    return f"only in {'AB'[number]}: {text},{at_end} {location}", cause


def _cause(signs: Sequence[_Sign], start: int, stretches: Sequence[Sequence[_Sign]]) -> Cause:
    """Return what stretches of tokens, of which the first begins after some signs of its side, are in a turn."""
    names = [name for stretch in stretches for name in _controls(stretch)]
    before = next(reversed(_controls(signs[:start])), "")
    has_text = any(_TEXT in _summary(stretch).replace(_CHANNEL, "") for stretch in stretches)
    has_header = any(map(begins_turn, names))
    if has_header and has_text:
        return "messages"
    for part, pattern in _PARTS.items():
        if any(map(pattern.search, names)) or (not names and not _CLOSES.search(before) and pattern.search(before)):
            return part
    if has_header or (not names and not has_text and begins_turn(before)):
        return "header"
    if names or not has_text:
        at_start = start == 0 and not has_text
        of_names: Cause = "text and its end" if has_text else "end of a turn"
        return "beginning of the text" if at_start else of_names if names else "blanks after a turn"
    return "text"


def _controls(signs: Iterable[_Sign]) -> list[str]:
    """Return the control tokens among some signs, also those that several tokens spell."""
    return [sign.control for sign in signs if sign.control]


def _has_turn(signs: Iterable[_Sign]) -> bool:
    return any(map(begins_turn, _controls(signs)))


def _opens(sign: _Sign) -> bool:
    """Return true for the control token at the beginning of a think block."""
    return _PARTS["think block"].search(sign.control) is not None and _CLOSES.search(sign.control) is None


def _blocks(a: _Side, b: _Side) -> Iterator[_Block]:
    """Yield the stretches in which two sides differ; after some equal tokens a new one begins."""
    ends = len(a.ids), len(b.ids)
    least = min(ends)
    i = j = next((index for index, pair in enumerate(zip(a.ids, b.ids, strict=False)) if pair[0] != pair[1]), least)
    if i < least and a.ids[ends[0] - least :] == b.ids[ends[1] - least :]:
        yield 0, ends[0] - least, 0, ends[1] - least
        return
    starts: dict[tuple[int | None, ...], list[int]] = defaultdict(list)  # in B, keyed by the tokens there
    for index in range(j, ends[1] - _SAME + 1 if i < ends[0] else j):
        starts[tuple(b.ids[index : index + _SAME])].append(index)
    done = 0
    while (i, j) != ends:
        if i < ends[0] and j < ends[1] and a.ids[i] == b.ids[j]:
            i, j = i + 1, j + 1
            continue
        back = 0
        stop = _inserted(a, i, b, j)
        end = 0 if stop else _inserted(b, j, a, i)
        if not stop and not end:
            stop, end = _resumed(a, i, b, j, starts)
            if (i + stop, j + end) != ends and not (stop and end):
                back = _moved(*((a, i, stop) if stop else (b, j, end)), i - done)
        i, j = i + stop, j + end
        yield i - stop - back, i - back, j - end - back, j - back
        done = i


def _moved(side: _Side, start: int, count: int, limit: int) -> int:
    """Return how much earlier an insertion may begin, so that it is a whole message or block, else at the most."""
    most = next((n for n in range(limit) if side.ids[start - n - 1] != side.ids[start + count - n - 1]), limit)
    whole = (n for n in range(most + 1) if begins_turn((sign := side.signs[start - n]).control) or _opens(sign))
    return next(whole, most)


def _inserted(side: _Side, start: int, other: _Side, index: int) -> int:
    """Count the tokens of a think block, or of blanks before a control token, that stand here on one side alone."""
    ids, signs = side
    numbers = range(start, len(ids))
    if start == len(ids) or index == len(other.ids):
        return 0
    stop = next((n for n in numbers if signs[n].control or not set(signs[n].text) <= _BLANKS), start)
    if signs[stop].control and ids[stop] == other.ids[index]:
        return stop - start
    if not _opens(signs[start]) or _opens(other.signs[index]):
        return 0
    pattern = _PARTS["think block"]
    close = next(
        (n for n in numbers[1:] if begins_turn(signs[n].control) or pattern.search(signs[n].control)), len(ids)
    )
    if close < len(ids) and begins_turn(signs[close].control):
        return 0
    end = next((n for n in range(close + 1, len(ids)) if signs[n].text == _TEXT or signs[n].control), len(ids))
    wanted = other.ids[index : index + _SAME]
    for stop in range(close + 1, min(end + 1, len(ids))):
        if all(map(eq, ids[stop : stop + _SAME], wanted)):
            return stop - start
    has_tags_alone = any(ids[n : n + _SAME] == wanted for n in range(start + 1, min(start + 6, close)))
    return 0 if has_tags_alone and end < len(ids) else end - start


def _resumed(
    a: _Side, i: int, b: _Side, j: int, starts: Mapping[tuple[int | None, ...], Sequence[int]]
) -> tuple[int, int]:
    """Return how many tokens of each side stand before the nearest place from which on some are equal."""
    nearest = rest = len(a.ids) - i, len(b.ids) - j
    for skipped in range(rest[0] - _SAME + 1):
        if skipped >= sum(nearest):
            break
        equal = starts.get(tuple(a.ids[i + skipped : i + skipped + _SAME]), ())
        index = bisect_left(equal, j)
        if index < len(equal) and skipped + equal[index] - j < sum(nearest):
            nearest = skipped, equal[index] - j
    # Fewer are enough at the end of both, unless one side ends earlier.
    same = next((n for n in range(min(_SAME - 1, *rest), 0, -1) if a.ids[-n:] == b.ids[-n:]), 0)
    is_nearer = same and sum(rest) - 2 * same < sum(nearest)
    if is_nearer and _has_turn(a.signs[i:-same]) == _has_turn(b.signs[j:-same]):
        return rest[0] - same, rest[1] - same
    return nearest


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
    of_tokens = {bisect_right(starts, start) - 1: name for start, name in reversed(ordered)}
    for (start, name), (following, _) in pairwise([*ordered, (len(text), "")]):
        end = start + len(name)
        between = text[end:following]
        header = _HEADER.match(between) if name in NAMED_NEXT else None
        after = len(between) - len(between.lstrip()) if header is None else header.end()
        before = len(between) - len(between.rstrip())
        for begin, stop in ((start, end + after), (following - before, following)):
            is_named[begin:stop] = b"\1" * (stop - begin)
    signs = []
    for index, (token, (start, stop)) in enumerate(zip(texts, pairwise(starts), strict=True)):
        is_template = start < stop and is_named.find(0, start, stop) < 0
        signs.append(_Sign(_visible_text(token) if is_template else _TEXT, of_tokens.get(index, "")))
    return signs


@lru_cache(1024)
def _visible_text(text: str) -> str:
    return "".join(part for part, _, _ in runs(text, UNICODE) if part != "\n")


def _summary(signs: Sequence[_Sign]) -> str:
    """Return what stands for some cells, with runs of the same sign once, up to too many control tokens."""
    controls = [index for index, sign in enumerate(signs) if sign.control]
    stop = controls[_MANY] if len(controls) > _MANY else len(signs)
    return "".join(text for text, _ in groupby([*(sign.text for sign in signs[:stop]), *[_TEXT][: len(signs) - stop]]))


def _location(signs: Sequence[_Sign], index: int) -> str:
    """Describe the place before a cell by the control token before it, and by what stands between."""
    if index == 0:
        return "at the start"
    start = next((number for number in range(index - 1, -1, -1) if signs[number].control), 0)
    before, is_text, _ = _summary(signs[start:index]).partition(_TEXT)
    return f"in the text after {before or 'the start'}" if is_text else f"after {before}"
