"""The rows that examples are made of, looked into as samples are."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._audit.batch import Columns
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["ExampleRows", "finding_of_examples"]

_SHOWN = 5


class ExampleRows(Columns):
    """Rows of the examples: those of a fixed choice, or all that may be chosen.

    Args:
        rows: The rows.
        places: The number of each in the table of examples; None: in order.
        names: The columns that a template of examples shows.

    """

    def __init__(self, rows: pa.RecordBatch, places: pa.Array | None, names: list[str]) -> None:
        super().__init__(rows)
        self.names = names
        self._places = places

    @classmethod
    def of(cls, subject: Subject) -> ExampleRows | None:
        """Take the rows that samples may be shown; None where there are none."""
        examples = subject.renderer._configuration.examples
        if not subject.has_examples or examples is None or not len(examples):
            return None
        wanted = {*subject.renderer.required_columns, (subject.settings["reader"] or {}).get("output_column")}
        names = [name for name in examples.column_names if name in wanted]
        if not names:
            return None
        table, places = examples.select(names), None
        core = subject.core
        if not core.by_position and core.index_column is None and (chosen := core.retrieve(1)) is not None:
            places = pc.unique(chosen.flatten().cast(pa.int64()))
            places = pc.if_else(pc.less(places, 0), pc.add(places, len(examples)), places)
            places = places.take(pc.sort_indices(places))
            table = pa.concat_tables([table.slice(row, 1) for row in places.to_pylist()]) if len(places) else table[:0]
        batches = table.combine_chunks().to_batches()
        return cls(batches[0], places, names) if len(batches) == 1 else None

    @classmethod
    def names_of(cls, rows: ExampleRows | None) -> Iterator[tuple[ExampleRows, str]]:
        """Go through the columns of examples, where there are any."""
        for name in rows.names if rows is not None else ():
            assert rows is not None
            yield rows, name

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Numbers of rows in the table of examples, each once and ascending."""
        unique = pc.unique(rows.cast(pa.int64()))
        unique = unique.take(pc.sort_indices(unique))
        return unique if self._places is None else self._places.take(unique)


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
