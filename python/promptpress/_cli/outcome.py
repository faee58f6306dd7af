"""What a configuration gave for some rows, and where two such outcomes first differ."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .refusals import same_fault, words

_CONTEXT_CHARS = 40  # characters of a text shown on either side of a difference
_MAX_CHARS = 160  # characters of anything else
_ABSENT = object()


@dataclass(frozen=True)
class Refusal:
    """An exception, and the row that it is about; None where the configuration itself is refused.

    Example:
        >>> str(Refusal(3, KeyError("answer")))
        "KeyError: 'answer'"

    """

    row: int | None
    error: Exception

    def __str__(self) -> str:
        text = words(self.error) or _raised_at(self.error)
        return f"{type(self.error).__name__}: {text}" if text else type(self.error).__name__


@dataclass
class Outcome:
    """The requests of the rows from the first on, by label or number of a turn, and what ended them early.

    Example:
        >>> Outcome([{None: "Q: 1+1?"}]).count
        1

    """

    rows: list[dict[str | int | None, Any]] = field(default_factory=list)
    refusal: Refusal | None = None

    @property
    def count(self) -> int:
        """How many requests there are."""
        return sum(map(len, self.rows))


@dataclass(frozen=True)
class Difference:
    """The first place where two outcomes differ, with what stands there in either, and the equal requests before it."""

    place: str
    one: str
    other: str
    equal: int


def first_difference(one: Outcome, other: Outcome) -> Difference | None:
    """Find the first row, label or turn, and position at which two outcomes differ.

    Two refusals of the same row, or before the first one, agree if both name the same fault
    (`promptpress._cli.refusals.same_fault`).

    Args:
        one: what one side gave for some rows.
        other: what the other side gave for the same rows.

    Returns:
        The place and both contents; None where the outcomes agree.

    Example:
        >>> found = first_difference(Outcome([{None: "Q: 1+1?"}]), Outcome([{None: "Q: 1 + 1?"}]))
        >>> print(found.place, found.one, found.other, sep=" | ")
        row 0, character 4 | 'Q: 1+1?' | 'Q: 1 + 1?'

    """
    equal = 0
    for row, (left, right) in enumerate(zip(one.rows, other.rows, strict=False)):
        if left.keys() != right.keys():
            what = "turns" if any(isinstance(label, int) for label in (*left, *right)) else "labels"
            return Difference(f"row {row}, {what}", _brief(list(left)), _brief(list(right)), equal)
        for label in left:
            found = _differing(left[label], right[label])
            if found is not None:
                named = f"turn {label}" if isinstance(label, int) else f"label {label!r}"
                where = [f"row {row}", *([] if label is None else [named]), *found[0]]
                return Difference(", ".join(where), found[1], found[2], equal)
            equal += 1
    row = min(len(one.rows), len(other.rows))
    if len(one.rows) == len(other.rows):
        if one.refusal is None and other.refusal is None:
            return None
        if one.refusal is not None and other.refusal is not None and same_fault(one.refusal.error, other.refusal.error):
            return None
    return Difference(f"row {row}", _at(one, row), _at(other, row), equal)


def plain(value: Any) -> Any:
    """Turn a request into lists, dicts and strings, without keys that hold None, for which Arrow has no other form.

    Args:
        value: what a harness's parser gave.

    Returns:
        The same in Python's own types.

    Example:
        >>> plain([{"role": "user", "prompt": "1+1?", "name": None}])
        [{'role': 'user', 'prompt': '1+1?'}]

    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _raised_at(error: BaseException) -> str:
    """Say where an exception without words comes from; an assertion seldom has any."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""


def _at(outcome: Outcome, row: int) -> str:
    if row < len(outcome.rows):
        return _brief(next(iter(outcome.rows[row].values()), None))
    return "no such row" if outcome.refusal is None else str(outcome.refusal)


def _differing(one: Any, other: Any) -> tuple[list[str], str, str] | None:
    """Give the path to the first difference within two requests, and both sides' contents there."""
    if one is _ABSENT or other is _ABSENT or type(one) is not type(other):
        return [], _brief(one), _brief(other)
    if one == other:
        return None
    if isinstance(one, str):
        pairs = enumerate(zip(one, other, strict=False))
        at = next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
        return [f"character {at}"], _around(one, at), _around(other, at)
    keys: list[Any] = []
    if isinstance(one, Mapping):
        keys = [*one, *(key for key in other if key not in one)]
    elif isinstance(one, list):
        keys = list(range(max(len(one), len(other))))
    for key in keys:
        found = _differing(_item(one, key), _item(other, key))
        if found is not None:
            step = f"message {key}" if isinstance(one, list) else repr(key)
            return [step, *found[0]], found[1], found[2]
    return [], _brief(one), _brief(other)


def _item(value: Any, key: Any) -> Any:
    try:
        return value[key]
    except LookupError:
        return _ABSENT


def _around(text: str, at: int) -> str:
    start, end = max(0, at - _CONTEXT_CHARS), at + _CONTEXT_CHARS
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{text[start:end]!r}{after}"


def _brief(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
