"""Sampling parameters of rows, as a column of structs; the exports for inference engines use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from promptpress._errors.errors import render_error, template_error
from promptpress._export.chat_messages import column_field
from promptpress._export.object_lines import no_rows

__all__ = ["with_sampling_params"]

_NAME = "sampling_params"


def with_sampling_params(
    reader: pa.RecordBatchReader, params: Mapping[str, Any] | None, columns: Mapping[str, str] | None
) -> pa.RecordBatchReader:
    """Append `sampling_params` to the batches of a stream; nothing if there are none.

    Args:
        reader: The stream.
        params: Parameters of all rows.
        columns: Parameters with a value for each row, and their columns.

    Raises:
        TemplateError: If a parameter is given twice, or a value has no Arrow type.
        RenderError: If a column is missing, or the stream has such a column already.

    >>> rows = pa.table({"room": [5, 9]}).to_reader()
    >>> with_sampling_params(rows, {"temperature": 0}, {"max_tokens": "room"}).read_all()["sampling_params"].to_pylist()
    [{'temperature': 0, 'max_tokens': 5}, {'temperature': 0, 'max_tokens': 9}]

    """
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
