"""Lines that are objects made of columns, such as a prompt and its completion; the files of training data use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from promptpress.engine.errors import template_error
from pyarrow import types

from promptpress_workbench.export.chat_messages import column_field
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, object_pieces

Convert = Callable[[pa.RecordBatch, int], Mapping[str, pa.Array]]
"""Makes the values of a batch's lines, keyed by their keys, given the number of its first row."""


class ObjectLines:
    """Makes a line for each row of batches of one schema: kept columns, then the values that `convert` makes."""

    frame = None

    def __init__(self, schema: pa.Schema, convert: Convert, keep: Sequence[str]) -> None:
        self._convert = convert
        self._keep = keep
        self._rows = 0
        values = convert(no_rows(schema), 0)
        members = kept_members(schema, keep, values)
        for name, array in values.items():
            is_messages = types.is_nested(array.type) and types.is_struct(array.type.value_type)
            members.append((name, Piece("request" if is_messages else "value", column=name)))
        self._schema = pa.schema(
            [*(schema.field(name) for name in keep), *(pa.field(name, array.type) for name, array in values.items())]
        )
        self._writer = LineWriter(self._schema, object_pieces(members))

    def lines(self, batch: pa.RecordBatch) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch, in several arrays."""
        kept = [batch.column(batch.schema.get_field_index(name)) for name in self._keep]
        values = self._convert(batch, self._rows).values()
        rows = pa.RecordBatch.from_arrays([*kept, *values], schema=self._schema)
        out = self._writer.lines(rows, self._rows)
        self._rows += batch.num_rows
        return out


def kept_members(schema: pa.Schema, keep: Sequence[str], keys: Mapping[str, object]) -> list[tuple[str, Piece]]:
    """Return the members of a line for kept columns; refuse one that is kept twice, or has one of `keys`."""
    if isinstance(keep, str):
        raise template_error("wrong_type", "keep", f"expected names of columns, such as [{keep!r}], found a string")
    for name in keep:
        column_field(schema, name)
        if name in keys:
            raise template_error("duplicate_output_column", "keep", f"{name!r} is a key that each line has already")
    if len(set(keep)) < len(keep):
        raise template_error("duplicate_output_column", "keep", "a column is kept twice")
    return [(name, Piece("value", column=name)) for name in keep]


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of this schema without rows."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
