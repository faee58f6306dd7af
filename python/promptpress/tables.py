"""Samples from whatever holds Arrow data, as pyarrow sees it and as the core takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from promptpress import _text
from promptpress._core import RenderError

__all__ = ["Lower", "as_reader", "as_table", "core_schema", "for_core"]

Lower = Callable[[str, pa.Array], pa.Array]
"""Texts of a column's rows: its name and their numbers in, strings out."""


def as_table(samples: Any) -> pa.Table:
    """Samples as a table.

    Args:
        samples: A pyarrow table, batch, reader, dataset or scanner; a Hugging Face dataset; or anything with the Arrow
            PyCapsule interface, such as a Polars or pandas frame or a DuckDB relation.

    Returns:
        The table; nothing is copied that lies in Arrow's memory already.

    Raises:
        TypeError: If it holds no Arrow data.

    >>> as_table(pa.record_batch({"q": ["1+1=?"]})).num_rows
    1

    """
    if isinstance(samples, pa.Table):
        return samples
    if isinstance(samples, pa.RecordBatch):
        return pa.Table.from_batches([samples])
    if isinstance(samples, pa.RecordBatchReader):
        return samples.read_all()
    if isinstance(samples, (ds.Dataset, ds.Scanner)):
        return samples.to_table()
    if hasattr(samples, "with_format") and hasattr(samples, "column_names"):  # a Hugging Face dataset
        return pa.table(samples.with_format("arrow")[:])
    if hasattr(samples, "__arrow_c_stream__") or hasattr(samples, "__arrow_c_array__"):
        return pa.table(samples)
    message = f"expected a table (anything with the Arrow PyCapsule interface), found {type(samples).__name__}"
    raise TypeError(message)


def as_reader(batches: Any) -> pa.RecordBatchReader:
    """Batches as a stream.

    Args:
        batches: Anything that [`as_table`][promptpress.tables.as_table] takes; readers, scanners and streams are read
            batch by batch. Or an iterable of record batches.

    Returns:
        The stream.

    Raises:
        TypeError: If it holds no Arrow data.

    """
    if isinstance(batches, pa.RecordBatchReader):
        return batches
    if isinstance(batches, ds.Dataset):
        return batches.scanner().to_reader()
    if isinstance(batches, ds.Scanner):
        return batches.to_reader()
    if hasattr(batches, "__arrow_c_stream__") and not isinstance(batches, (pa.Table, pa.RecordBatch)):
        return pa.RecordBatchReader.from_stream(batches)
    if isinstance(batches, Iterable) and not hasattr(batches, "__arrow_c_array__") and not hasattr(batches, "schema"):
        items = iter(batches)
        first = next(items, None)
        if isinstance(first, pa.RecordBatch):
            return pa.RecordBatchReader.from_batches(first.schema, _chain(first, items))
    return as_table(batches).to_reader()


def _chain(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    yield first
    yield from rest


def core_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of what `for_core` makes of a table with this one.

    Raises:
        RenderError: If two columns have the same name.

    """
    foreign = _foreign(schema)
    return pa.schema([_row_numbers(field.name) if field.name in foreign else field for field in schema])


def _foreign(schema: pa.Schema) -> list[str]:
    """List the columns of types that the core has no texts for; refuse names that it can't tell apart."""
    names = schema.names
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        message = f'column "{twice}": the table has two columns of this name; rename one'
        raise RenderError(message)
    if any("\0" in name for name in names):
        message = "a column name holds a NUL character, at which Arrow's C interface cuts names; rename it"
        raise RenderError(message)
    return [field.name for field in schema if not _text.is_native(field.type)]


def _row_numbers(name: str) -> pa.Field:
    return pa.field(name, pa.int64(), metadata={_EXTENSION: "promptpress.rows"})


def for_core(table: pa.Table) -> tuple[pa.Table, Lower]:
    """Prepare a table for the core, which has no texts for some types.

    Args:
        table: The samples.

    Returns:
        The table with such columns replaced by row numbers, and the function that gives the texts of those rows. It is
        called when the texts are needed, which they seldom are for a column that no template names.

    Raises:
        RenderError: If two columns have the same name.

    """
    foreign = _foreign(table.schema)
    nested = [field.name for field in table.schema if field.type.num_fields and field.name not in foreign]
    out = _text.lower(table, nested)
    for name in foreign:
        at = out.schema.get_field_index(name)
        rows = pa.array(range(len(table)), pa.int64())
        out = out.set_column(at, _row_numbers(name), rows)

    def lower(name: str, rows: pa.Array) -> pa.Array:
        first = rows[0].as_py() if len(rows) else 0
        part = _text.lower(table.select([name]).slice(first, len(rows)), [name], first_row=first)
        return part.column(0).combine_chunks()

    return out, lower


_EXTENSION = "ARROW:extension:name"
"""The core leaves the text of a column with this key to `lower`."""
