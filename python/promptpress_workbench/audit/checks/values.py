"""Nulls in values, and characters that are invisible or change how other characters are displayed."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import spread_over_runs

from promptpress_workbench.audit.batch import Batch, Columns
from promptpress_workbench.audit.checks.check import Check
from promptpress_workbench.audit.finding import Finding, Rows, concatenated, finding_of
from promptpress_workbench.audit.searches import example_columns, finding_of_examples
from promptpress_workbench.audit.subject import Subject

KINDS = (
    ("control_character", "a control character"),
    ("bidi_character", "a character that changes the direction of text"),
    ("mixed_line_ends", "line ends of more than one kind"),
    ("invisible_character", "an invisible character"),
    ("replacement_character", "U+FFFD, the sign of a wrong decoding,"),
    ("byte_order_mark", "a byte order mark"),
)
"""The kinds of the core's `odd_characters`, by their numbers."""


class Nulls(Check):
    """Null values that prompts show as a word."""

    codes = ("null_value",)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._rows = {name: Rows() for name in subject.schema.names}

    def add(self, batch: Batch) -> None:
        for name in batch.names:
            _search_nulls(batch, name, self._rows[name])

    def findings(self) -> Iterator[Finding]:
        for name, rows in self._rows.items():
            if rows:
                yield finding_of("null_value", f"column {name!r} is null, and the prompt shows it as None", rows, name)
        for examples, name in example_columns(self._subject):
            rows = Rows()
            _search_nulls(examples, name, rows)
            if rows:
                message = "it is null, and examples show it as None"
                yield finding_of_examples("null_value", message, rows, name)


def _search_nulls(columns: Columns, name: str, rows: Rows) -> None:
    nulls = pc.indices_nonzero(_nulls(columns.column(name)))
    if len(nulls):
        rows.add(columns.row_numbers(columns.visible_rows(name, nulls)))


def _nulls(column: pa.Array) -> pa.Array:
    """Return a mask of the nulls of a column, including null values of a dictionary and null runs.

    >>> _nulls(pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))).to_pylist()
    [False, True, True]
    >>> texts = pa.array(["a", None], pa.string_view())
    >>> _nulls(pa.RunEndEncodedArray.from_arrays(pa.array([1, 3]), texts).slice(0, 2)).to_pylist()
    [False, True]

    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _nulls(column.storage)
    if pa.types.is_run_end_encoded(kind):
        return spread_over_runs(column, _nulls(column.values))
    mask = column.is_null()
    if pa.types.is_dictionary(kind) and column.dictionary.null_count:
        return pc.or_(mask, pc.fill_null(column.dictionary.is_null().take(column.indices), True))
    return mask


class OddCharacters(Check):
    """Values with one of `KINDS`."""

    codes = tuple(code for code, _ in KINDS)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._rows = {name: [Rows() for _ in KINDS] for name in subject.schema.names}

    def add(self, batch: Batch) -> None:
        for name in batch.names:
            _search_characters(batch, name, self._rows[name])

    def findings(self) -> Iterator[Finding]:
        for name, by_kind in self._rows.items():
            for (code, kind), rows in zip(KINDS, by_kind, strict=True):
                if rows:
                    yield finding_of(code, f"a value of column {name!r} has {kind} in it", rows, name)
        for examples, name in example_columns(self._subject):
            by_kind = [Rows() for _ in KINDS]
            _search_characters(examples, name, by_kind)
            for (code, kind), rows in zip(KINDS, by_kind, strict=True):
                if rows:
                    yield finding_of_examples(code, f"the value has {kind} in it", rows, name)


def _search_characters(columns: Columns, name: str, by_kind: list[Rows]) -> None:
    rows: dict[int, list[pa.Array]] = {}
    locations: dict[int, tuple[int, int]] = {}
    for texts, matches in columns.matches(name, _core.odd_characters):
        for kind in pc.unique(matches.column(1)).to_pylist():
            of_kind = matches.filter(pc.equal(matches.column(1), kind))
            if columns.is_flat(name):
                locations[kind] = (of_kind.column(2)[0].as_py(), of_kind.column(3)[0].as_py())
            rows.setdefault(kind, []).append(texts.rows(of_kind.column(0)))
    # A struct has several texts in each row, and they are one value.
    for kind, arrays in rows.items():
        by_kind[kind].add(columns.row_numbers(concatenated(arrays)), *locations.get(kind, ()))
