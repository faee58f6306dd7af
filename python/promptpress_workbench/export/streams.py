"""Streams that are converted for an export: sampling parameters as a column of structs, and keys of caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from promptpress.engine import SHARED, warn_of_no_rows
from promptpress.engine.errors import render_error, template_error

from promptpress_workbench.export.chat_messages import column_field
from promptpress_workbench.export.object_lines import no_rows

_NAME = "sampling_params"

CACHE_KEY = "prompt_cache_key"
"""The name of the parameter of a request, and of the column that holds it."""


def converted_reader(
    reader: pa.RecordBatchReader, convert: Callable[[pa.RecordBatch, int], pa.RecordBatch]
) -> pa.RecordBatchReader:
    """Convert the batches of a stream; `convert` gets the number of a batch's first row, too."""
    schema = convert(no_rows(reader.schema), 0).schema

    def batches() -> Iterator[pa.RecordBatch]:
        first_row = 0
        for batch in reader:
            yield convert(batch, first_row).cast(schema)
            first_row += batch.num_rows

    return pa.RecordBatchReader.from_batches(schema, batches())


def whole_table(reader: pa.RecordBatchReader) -> pa.Table:
    """Read a stream to its end, and warn if it has no rows."""
    rows = reader.read_all()
    warn_of_no_rows(rows.num_rows)
    return rows


def with_sampling_params(
    reader: pa.RecordBatchReader, params: Mapping[str, Any] | None, columns: Mapping[str, str] | None
) -> pa.RecordBatchReader:
    """Append `sampling_params` to the batches of a stream; nothing if there are none."""
    given, of_rows = dict(params or {}), dict(columns or {})
    for name, column in of_rows.items():
        if name in given:
            raise template_error("unknown_key", "sampling_columns", f"{name!r} is in sampling_params too; give it once")
        column_field(reader.schema, column)
    try:
        constants = [pa.scalar(value) for value in given.values()]
    except pa.ArrowException as error:
        raise template_error("wrong_type", _NAME, f"a value has no Arrow type: {error}") from error
    if not given and not of_rows:
        return reader
    if _NAME in reader.schema.names:
        message = f"the table has a column {_NAME!r}, which the parameters are to be; drop or rename it"
        raise render_error("duplicate_output_column", message, column=_NAME)

    def with_params(batch: pa.RecordBatch) -> pa.RecordBatch:
        values = [pa.repeat(value, batch.num_rows) for value in constants]
        values += [batch.column(batch.schema.get_field_index(column)) for column in of_rows.values()]
        return batch.append_column(_NAME, pa.StructArray.from_arrays(values, [*given, *of_rows]))

    schema = with_params(no_rows(reader.schema)).schema
    return pa.RecordBatchReader.from_batches(schema, map(with_params, reader))


def schema_with_cache_keys(schema: pa.Schema) -> pa.Schema:
    """Return the schema of `with_cache_keys`."""
    fields = list(schema)[: -len(SHARED)]
    return pa.schema([*fields, pa.field(CACHE_KEY, pa.string())], schema.metadata)


def with_cache_keys(batches: Iterable[pa.RecordBatch], fingerprint: str) -> Iterator[pa.RecordBatch]:
    """Replace what requests share by a key for each group of requests, in the last column."""
    begin = fingerprint[:8] or "prefix"
    for batch in batches:
        *columns, groups, _ = batch.columns
        keys = pa.array([f"{begin}-{group}" for group in groups.to_pylist()], pa.string())
        yield pa.RecordBatch.from_arrays([*columns, keys], schema=schema_with_cache_keys(batch.schema))
