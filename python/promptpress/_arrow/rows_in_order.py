"""The rows of a table in any order, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import unsupported_columns
from promptpress._arrow.take import rows_in_any_order
from promptpress._arrow.validation import checked

_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
"""The types of texts, which the core takes as bytes."""


def rows_in_order(table: pa.Table, rows: pa.Array, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in another order, without copying more than a batch of them at a time."""
    table = checked(table)
    foreign = unsupported_columns(table.schema)
    native = [name for name in table.schema.names if name not in foreign]
    source = _core.RowSource(table.select(native))
    for start in range(0, len(rows), batch_rows):
        chosen = rows.slice(start, batch_rows)
        columns = dict(zip(native, source.take(chosen), strict=True))
        arrays = []
        for field in table.schema:
            if field.name in foreign:
                arrays.append(rows_in_any_order(table.column(field.name), chosen))
            elif field.type in _AS_BYTES:
                arrays.append(columns[field.name].view(field.type))
            else:
                arrays.append(columns[field.name])
        yield pa.RecordBatch.from_arrays(arrays, schema=table.schema)
