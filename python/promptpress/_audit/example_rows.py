"""The rows that examples are made of, looked into as samples are."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._audit.batch import Columns
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject
from promptpress._audit.taken import taken_of_table

__all__ = ["ExampleRows", "finding_of_examples"]

_SHOWN = 5


class ExampleRows(Columns):
    """Rows of the examples that can be chosen: those of a fixed choice, or all.

    Args:
        rows: The rows, with the columns that requests show.
        places: The number of each in the table of examples, ascending.
        masks: For each column a mask of these rows: those whose value requests show.

    """

    def __init__(self, rows: pa.RecordBatch, places: pa.Array, masks: dict[str, pa.Array]) -> None:
        super().__init__(rows)
        self._places = places
        self._masks = masks

    @classmethod
    def of(cls, subject: Subject) -> ExampleRows | None:
        """Take the rows that samples may be shown; None where there are none."""
        masks, examples = subject.example_columns, subject.renderer._configuration.examples
        if examples is None or not masks:
            return None
        shown = functools.reduce(pc.or_, masks.values())
        places = pc.indices_nonzero(shown).cast(pa.int64())
        table = examples.select(list(masks))
        table = table if len(places) == len(table) else taken_of_table(table, places)
        batches = table.combine_chunks().to_batches()
        if len(batches) != 1:
            return None
        return cls(batches[0], places, {name: mask.take(places) for name, mask in masks.items()})

    @property
    def names(self) -> list[str]:
        """The columns that requests show."""
        return list(self._masks)

    def visible(self, name: str, rows: pa.Array) -> pa.Array:
        """Keep the rows whose value requests show."""
        return rows.filter(self._masks[name].take(rows))

    @classmethod
    def names_of(cls, rows: ExampleRows | None) -> Iterator[tuple[ExampleRows, str]]:
        """Go through the columns of examples, where there are any."""
        for name in rows.names if rows is not None else ():
            assert rows is not None
            yield rows, name

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Numbers of rows in the table of examples, each once and ascending."""
        unique = pc.unique(rows.cast(pa.int64()))
        return self._places.take(unique.take(pc.sort_indices(unique)))


def finding_of_examples(code: str, message: str, rows: Rows, name: str) -> Finding:
    """Make a finding about examples, whose rows aren't the samples'.

    Args:
        code: One of `CODES`.
        message: What is so of a value, to be followed by where.
        rows: Rows of the examples.
        name: Their column.

    Returns:
        The finding, which says the rows in its message.

    """
    shown = ", ".join(map(str, rows.first[:_SHOWN])) + (", …" if rows.count > _SHOWN else "")
    where = f"column {name!r} of the examples, row{'s' if rows.count != 1 else ''} {shown}"
    return finding_of(code, f"{where}: {message}")
