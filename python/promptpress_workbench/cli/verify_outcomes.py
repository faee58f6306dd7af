"""Outcomes of a harness and of promptpress for the same rows: requests and refusals, compared into a verdict."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import promptpress
from promptpress.engine.errors import counted

from promptpress_workbench.cli.errors import ExitCode

_CONTEXT_CHARS = 40  # characters of a text shown on either side of a difference
_MAX_CHARS = 160  # characters of anything else
_ABSENT = object()
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# A text between quotes that isn't a key of a printed dict, because the message isn't about such keys.
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w|\s*:)|\"([^\"]+)\"(?!\s*:)|`([^`]+)`")
# Words that are names without quotes: with underscores, or after a colon at the end.
_WORD = re.compile(r"\b([a-z]+(?:_[a-z]+)+)\b|:\s*(\w+)\W*$")
# Parts of promptpress's messages that aren't about what is wrong: asides, remedies and valid values.
_ASIDE = re.compile(r"\([^()]*\)|; .*| is not one of .*")
# Words that messages about anything may contain.
_COMMON_WORDS = {
    *("prompt_template", "ice_template", "meta_template", "template", "templates", "type", "cfg", "default_args"),
    *("round", "begin", "end", "role", "fallback_role", "prompt", "messages", "content", "self"),
    *("str", "int", "float", "bool", "list", "tuple", "dict", "bytes", "object", "NoneType"),
    *("None", "True", "False"),
}
# A message that says that a key is missing is about the key, even if the key is a common word.
_MISSING = ("missing", "needs the key", "lacks")
_MISSING_CODES = (
    *("missing_key", "missing_column", "missing_examples", "missing_ice_token", "missing_labels"),
    *("missing_output_column", "missing_template", "incomplete_message", "label_not_in_map"),
)

# From best to worst. A difference is the worst, so that a dataset that can't be loaded doesn't hide it.
_RANKS = (ExitCode.OK, ExitCode.UNSUPPORTED, ExitCode.USAGE, ExitCode.CONFIGURATION, ExitCode.DATA, ExitCode.DIFFERENT)
_WORDS = {ExitCode.OK: "equal", ExitCode.DIFFERENT: "different", ExitCode.UNSUPPORTED: "not supported"}

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

    Two refusals of the same row, or before the first row, are equal if both name the same fault.
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
    """Turn a request into lists, dicts and values, without None, with which Arrow fills missing keys."""
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


def error_text(error: BaseException | str) -> str:
    """Return the text of an error on one line, without a terminal's colours."""
    return _COLOURS.sub("", str(error)).replace("\n", " ")


def same_fault(theirs: BaseException, ours: BaseException) -> bool:
    """Return true if two exceptions name the same fault.

    The classes and sentences of both sides differ, so only names are compared: the role, label, key, argument, class or
    row number that is wrong. If one side names nothing, or something else, the faults count as different.
    """
    if type(theirs) is type(ours) and error_text(theirs) == error_text(ours):
        return True
    code = getattr(ours, "code", "")
    is_missing = code in _MISSING_CODES
    their_text, our_text = error_text(theirs), _ASIDE.sub("", error_text(getattr(ours, "message", "") or ours))
    if isinstance(theirs, KeyError) and len(theirs.args) == 1:
        (key,) = theirs.args
        if isinstance(key, str):  # `str` would put quotes around the text of a KeyError
            their_text, is_named = error_text(key), f"'{key}'" in our_text or f'"{key}"' in our_text
        else:
            is_named = re.search(rf"(?<!\w){re.escape(repr(key))}(?!\w)", our_text) is not None
        if is_named:
            # The text is only the key, which may be any value; a common word is the fault only if it is missing.
            return is_missing or str(key) not in _COMMON_WORDS
    if _names(their_text, theirs) & _names(our_text, ours):
        return True
    if is_missing and any(word in their_text for word in _MISSING):
        return not _matches(_QUOTED, their_text).isdisjoint(_matches(_QUOTED, our_text))
    if code == "example_index_out_of_range" and ("out of range" in their_text or "out of bounds" in their_text):
        # The first number in promptpress's text is the index that is too large, the next the number of examples.
        return next(filter(str.isdigit, _words(our_text)), None) in _words(their_text)
    return False


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _matches(pattern: re.Pattern[str], text: str) -> set[str]:
    return {piece for groups in pattern.findall(text) for piece in groups if piece}


def _names(text: str, error: BaseException) -> set[str]:
    names = _matches(_QUOTED, text) | _matches(_WORD, text)
    path, column = getattr(error, "path", None), getattr(error, "column", None)
    if isinstance(path, str):
        names.add(re.sub(r"\[\d+\]$", "", path).rpartition(".")[2])
    if isinstance(column, str):
        names |= _matches(_WORD, column)
    return names - _COMMON_WORDS


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison, or an error that prevented it."""

    code: ExitCode
    message: str
    """The text after the word, on the same line."""
    details: tuple[str, ...] = ()
    """Further lines."""

    @property
    def word(self) -> str:
        """The result in a word or two."""
        return _WORDS.get(self.code, "error")


def worst(verdicts: list[Verdict]) -> ExitCode:
    """Return the exit code of several verdicts."""
    return max((verdict.code for verdict in verdicts), key=_RANKS.index, default=ExitCode.OK)


def judge(theirs: Outcome, ours: Outcome, name: str, rows: int) -> Verdict:
    """Compare the outcomes of both sides; `name` is the harness's name and version, `rows` the number of given rows."""
    sides = {name: theirs, f"promptpress {promptpress.__version__}": ours}
    width = max(map(len, sides))
    of_rows = f"of {counted(rows, 'row')}"
    difference = first_difference(theirs, ours)
    if difference is None:
        equal = counted(sum(map(len, theirs.rows)), "request")
        if theirs.refusal is None:
            return Verdict(ExitCode.OK, f"{equal} {of_rows} ({', '.join(sides)})")
        return Verdict(
            ExitCode.OK,
            f"both refuse row {len(theirs.rows)} for the same reason ({of_rows}; equal before it: {equal})",
            tuple(f"  {side:{width}}  {outcome.refusal}" for side, outcome in sides.items()),
        )
    # An error of a class that is supported, but used wrongly, has another path.
    if ours.refusal and str(getattr(ours.refusal.error, "path", None)).endswith(".type"):
        detail = f"renders it ({counted(len(theirs.rows), 'row')})"
        if theirs.refusal:
            detail = f"refuses it too, in other words: {theirs.refusal}"
        if not theirs.refusal or not same_fault(theirs.refusal.error, ours.refusal.error):
            return Verdict(ExitCode.UNSUPPORTED, str(ours.refusal.error), (f"  {name} {detail}",))
    texts = (difference.theirs, difference.ours)
    details = [f"  {side:{width}}  {text}" for side, text in zip(sides, texts, strict=True)]
    if theirs.refusal and ours.refusal and len(theirs.rows) == len(ours.rows):
        details.append("both refuse it, and nothing that both name says that it is for the same reason")
    elif theirs.refusal and len(theirs.rows) < len(ours.rows):
        details.append(
            "where the harness fails on what it documents, promptpress does what is documented: docs/fidelity.md"
        )
    message = f"at {difference.location} ({of_rows}; equal before it: {counted(difference.equal, 'request')})"
    return Verdict(ExitCode.DIFFERENT, message, tuple(details))
