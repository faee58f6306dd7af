"""Rows that can't be rendered: how many there are, and the first of them for each kind of error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine.errors import counted
from promptpress.engine.tables import lazy_compute as pc

REMEDY = 'mend the row; errors="skip" of a rendering leaves such rows out, and errors="column" names them'
"""The remedy for a row that can't be rendered."""

NO_REASON = "a null, and no column 'error' says why"
"""The error of a null among rendered prompts for which the file has no reason."""

SCHEMA = pa.schema([("error", pa.string()), ("rows", pa.int64()), ("first_rows", pa.list_(pa.int64()))])

_MAX_FIRST = 10
_MAX_KINDS = 100
_OTHERS = "other errors"
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+")
"""The part of an error's text that may differ from row to row."""


@dataclass
class FailedKind:
    """One kind of error: the text of the first row's error, the number of rows, and the first rows."""

    error: str
    rows: int = 0
    first_rows: list[int] = field(default_factory=list)


class FailedRows:
    """Counts the rows that can't be rendered, by kinds of errors, which differ in more than values and numbers."""

    def __init__(self) -> None:
        self.rows = 0
        self._kinds: dict[str, FailedKind] = {}
        self._last: int | None = None

    def __bool__(self) -> bool:
        return self.rows > 0

    def add(self, samples: pa.Array, errors: pa.Array | None) -> None:
        """Add the errors of further requests (null for none) by the samples that they are of, ascending."""
        if errors is None or errors.null_count == len(errors):
            return
        is_failed = errors.is_valid()
        errors, samples = errors.filter(is_failed), samples.filter(is_failed).cast(pa.int64())
        # Several requests of one sample, such as those of labels, are one row.
        is_next = pa.array([samples[0].as_py() != self._last])
        is_new = pa.concat_arrays([is_next, pc.not_equal(samples[1:], samples[:-1])])
        self._last = samples[-1].as_py()
        errors, samples = errors.filter(is_new), samples.filter(is_new)
        self.rows += len(samples)
        encoded = errors.dictionary_encode()
        kinds = [self._kind_of(text) for text in encoded.dictionary.to_pylist()]
        numbers = {id(kind): number for number, kind in enumerate(kinds)}
        of_rows = pa.array([numbers[id(kind)] for kind in kinds], pa.int64()).take(encoded.indices)
        for number in set(numbers.values()):
            rows = samples.filter(pc.equal(of_rows, number))
            kinds[number].rows += len(rows)
            kinds[number].first_rows += rows[: _MAX_FIRST - len(kinds[number].first_rows)].to_pylist()

    def _kind_of(self, text: str) -> FailedKind:
        """Return the kind of an error, which may be a new one."""
        key = _VALUE.sub("", text)
        if key not in self._kinds and len(self._kinds) >= _MAX_KINDS:
            key = text = _OTHERS
        return self._kinds.setdefault(key, FailedKind(text))

    def kinds(self, row_number: Callable[[int], int] = int) -> list[FailedKind]:
        """Return the kinds of errors, the commonest first; `row_number` gives a row's number for users."""
        kinds = sorted(self._kinds.values(), key=lambda kind: (-kind.rows, kind.first_rows))
        return [replace(kind, first_rows=list(map(row_number, kind.first_rows))) for kind in kinds]

    def table(self) -> pa.Table:
        """Return `kinds` as a table."""
        return pa.Table.from_pylist([vars(kind) for kind in self.kinds()], SCHEMA)


def failed_count(failed: int, total: int, noun: str = "request") -> str:
    """Return how many requests or rows can't be rendered, in words."""
    return f"{failed:,} of {counted(total, noun)} can't be rendered"


def row_values(row: pa.Table, names: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """Return the values of some columns of one row; of a value that Python can't hold, what Arrow prints."""
    out = []
    for name in names:
        column = row.column(row.schema.get_field_index(name))
        try:
            (value,) = to_pylist(column)
        except Exception:  # pyarrow raises anything, for a date after the year 9999, say
            value = str(column)
        out.append((name, value))
    return tuple(out)


def value_text(value: Any) -> str:
    """Return a value of a row that can't be rendered as a text: a list, or its JSON, is a line for each item."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            return "\n".join(map(_line, json.loads(value))) or value
    if isinstance(value, list) and value:
        return "\n".join(map(_line, value))
    return value if isinstance(value, str) else _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
