"""Characters in values that nobody sees, or that steer what is seen."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch, Columns
from promptpress._audit.example_rows import ExampleRows, finding_of_examples
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["KINDS", "OddCharacters"]

KINDS = (
    ("control_character", "a control character"),
    ("bidi_character", "a character that changes the direction of text"),
    ("mixed_line_ends", "line ends of more than one kind"),
    ("invisible_character", "an invisible character"),
    ("replacement_character", "U+FFFD, the sign of a wrong decoding,"),
    ("byte_order_mark", "a byte order mark"),
)
"""Kinds of the core's `odd_characters`, by their numbers."""


class OddCharacters:
    """Values that have such characters in them."""

    def __init__(self, subject: Subject) -> None:
        self._rows = {(name, kind): Rows() for name in subject.schema.names for kind in range(len(KINDS))}
        self._examples = ExampleRows.of(subject)

    @classmethod
    def of(cls, subject: Subject) -> OddCharacters:
        """Any column may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look for them."""
        for name in batch.names:
            _look(batch, name, self._rows)

    def findings(self) -> Iterator[Finding]:
        """Name the columns."""
        for (name, kind), rows in self._rows.items():
            code, what = KINDS[kind]
            if rows:
                yield finding_of(code, f"a value of column {name!r} has {what} in it", rows, name)
        for examples, name in ExampleRows.names_of(self._examples):
            of_examples = {(name, kind): Rows() for kind in range(len(KINDS))}
            _look(examples, name, of_examples)
            for (_, kind), rows in of_examples.items():
                code, what = KINDS[kind]
                if rows:
                    yield finding_of_examples(code, f"the value has {what} in it", rows, name)


def _look(batch: Columns, name: str, found: dict[tuple[str, int], Rows]) -> None:
    rows: dict[int, list[pa.Array]] = {}
    places: dict[int, tuple[int, int]] = {}
    for texts in batch.texts(name):
        odd = _core.odd_characters(texts.array)
        places_of_texts = pc.unique(odd.column(0))
        said = batch.said(name, texts, places_of_texts)
        if len(said) < len(places_of_texts):
            odd = odd.filter(pc.is_in(odd.column(0), value_set=said))
        for kind in pc.unique(odd.column(1)).to_pylist():
            own = odd.filter(pc.equal(odd.column(1), kind))
            if batch.is_flat(name):
                places[kind] = (own.column(2)[0].as_py(), own.column(3)[0].as_py())
            rows.setdefault(kind, []).append(texts.rows(own.column(0)).cast(pa.int64()))
    # A struct has several texts a row, and is one value.
    for kind, arrays in rows.items():
        found[name, kind].add(batch.numbers(pa.concat_arrays(arrays)), *places.get(kind, ()))
