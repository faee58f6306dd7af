"""Requests that a harness or promptpress makes of some rows, and the first difference between both sides."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from promptpress_workbench.cli.verify.refusals import error_text, same_fault

_CONTEXT_CHARS = 40  # characters of a text shown on either side of a difference
_MAX_CHARS = 160  # characters of anything else
_ABSENT = object()

RowRequests: TypeAlias = dict[str | int | None, Any]
"""The requests of a row by label or by number of a turn; a single request without either has the key None."""


@dataclass(frozen=True)
class Refusal:
    """An exception and the row that it is about; the row is None if the configuration itself is refused."""

    row: int | None
    error: Exception

    def __str__(self) -> str:
        name, text = type(self.error).__name__, error_text(self.error)
        frames = traceback.extract_tb(self.error.__traceback__)
        if not text and frames:  # most assertions have no text
            text = f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}"
        return f"{name}: {text}" if text else name


@dataclass
class Outcome:
    """The requests of the rows from the first on, and the refusal that ended them early."""

    rows: list[RowRequests] = field(default_factory=list)
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Difference:
    """The location of the first difference, both sides' values there, and the number of equal requests before it."""

    location: str
    theirs: str
    ours: str
    equal: int


def first_difference(theirs: Outcome, ours: Outcome) -> Difference | None:
    """Find the first row, label or turn, and position at which two outcomes differ; None if they are equal.

    Two refusals of the same row, or before the first row, are equal if both name the same fault
    (`promptpress_workbench.cli.verify.refusals.same_fault`).
    """
    equal = 0
    for row, (left, right) in enumerate(zip(theirs.rows, ours.rows, strict=False)):
        if left.keys() != right.keys():
            what = "turns" if any(isinstance(key, int) for key in (*left, *right)) else "labels"
            return Difference(f"row {row}, {what}", _brief(list(left)), _brief(list(right)), equal)
        for key in left:
            difference = _request_difference(left[key], right[key])
            if difference is not None:
                path, their_text, our_text = difference
                if key is not None:
                    path = [f"turn {key}" if isinstance(key, int) else f"label {key!r}", *path]
                return Difference(", ".join([f"row {row}", *path]), their_text, our_text, equal)
            equal += 1
    if len(theirs.rows) == len(ours.rows):
        if theirs.refusal is None and ours.refusal is None:
            return None
        if theirs.refusal and ours.refusal and same_fault(theirs.refusal.error, ours.refusal.error):
            return None
    row = min(len(theirs.rows), len(ours.rows))
    return Difference(f"row {row}", _row_text(theirs, row), _row_text(ours, row), equal)


def plain(value: Any) -> Any:
    """Turn a request into lists, dicts and values, without None, with which Arrow fills missing keys.

    >>> plain([{"role": "user", "prompt": "1+1?", "name": None}])
    [{'role': 'user', 'prompt': '1+1?'}]
    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _row_text(outcome: Outcome, row: int) -> str:
    if row < len(outcome.rows):
        return _brief(next(iter(outcome.rows[row].values()), None))
    return "no such row" if outcome.refusal is None else str(outcome.refusal)


def _request_difference(left: Any, right: Any) -> tuple[list[str], str, str] | None:
    """Return the path to the first difference within two requests, and both values there; None if they are equal."""
    if type(left) is type(right):
        if left == right:
            return None
        if isinstance(left, str):
            pairs = enumerate(zip(left, right, strict=False))
            index = next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))
            return [f"character {index}"], _excerpt(left, index), _excerpt(right, index)
        items: tuple[Mapping[Any, Any], Mapping[Any, Any]] = ({}, {})
        if isinstance(left, Mapping):
            items = left, right
        elif isinstance(left, list):
            items = dict(enumerate(left)), dict(enumerate(right))
        for key in {**items[0], **items[1]}:
            difference = _request_difference(items[0].get(key, _ABSENT), items[1].get(key, _ABSENT))
            if difference is not None:
                step = f"message {key}" if isinstance(left, list) else repr(key)
                return [step, *difference[0]], *difference[1:]
    return [], _brief(left), _brief(right)


def _excerpt(text: str, index: int) -> str:
    start, end = max(0, index - _CONTEXT_CHARS), index + _CONTEXT_CHARS
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{text[start:end]!r}{after}"


def _brief(value: Any) -> str:
    text = "nothing" if value is _ABSENT else repr(value)
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
