"""CSV of RFC 4180, written a record batch at a time; `formats` opens the writer."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Literal

import pyarrow as pa
from promptpress.engine.errors import OutputError
from promptpress.engine.tables import is_json, is_text, without_json
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.files.write.json_lines import LineWriter, Piece


class CsvWriter:
    """Writes a header and a row for each request; lines end with CR and LF.

    Text is written as it is, in quotes if necessary. Other values are written as in JSON lines: messages and other
    nested values as JSON, times as text. Null is an empty field, and an empty text is `""`, though few readers tell
    them apart.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema, requests: int = -1) -> None:
        self._file = file
        self._first_row = 0
        # Messages in the requests' column are written with the keys that they have.
        requests %= len(schema)
        self._texts = [_texts(field, "request" if n == requests else "value") for n, field in enumerate(schema)]
        if not all(schema.names):
            raise OutputError("the csv output: a column has an empty name; leave it out of --keep")
        self._file.write(self._rows([_quoted(pa.array([name])) for name in schema.names]))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            texts = [texts(batch, self._first_row) for texts in self._texts]
            self._file.write(self._rows([_quoted(column) for column in texts]))
        self._first_row += batch.num_rows

    def close(self) -> None:
        """Do nothing: a file has no end."""

    def abandon(self) -> None:
        """Do nothing: nothing is written later."""

    def _rows(self, columns: list[pa.Array]) -> bytes:
        separator, end = pa.scalar(",", pa.large_string()), pa.scalar("\r\n", pa.large_string())
        rows = pc.binary_join_element_wise(*columns, separator)
        lines = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), end)
        # The lines follow each other in memory.
        offsets, data = lines.buffers()[1:]
        ends = memoryview(offsets).cast("q")
        return bytes(memoryview(data)[ends[lines.offset] : ends[lines.offset + len(lines)]])


def _texts(field: pa.Field, kind: Literal["value", "request"]) -> Callable[[pa.RecordBatch, int], pa.Array]:
    """Return a function that converts a column to texts: JSON if JSON has a form for the values, or else their text."""
    name, data_type = field.name, field.type
    if is_json(field):
        return lambda batch, first_row: without_json(batch.column(name), field, first_row)
    if is_text(data_type):
        return lambda batch, _: batch.column(name)
    has_form = types.is_nested(data_type) or types.is_integer(data_type) or types.is_floating(data_type)
    has_form = has_form or types.is_boolean(data_type)
    lines = LineWriter(pa.schema([field]), [Piece(kind if has_form else "plain", column=name)])

    def texts(batch: pa.RecordBatch, first_row: int) -> pa.Array:
        column = batch.select([name])
        values = pa.concat_arrays(lines.lines(column, first_row)).cast(pa.large_string())
        is_null = pc.equal(values, "null") if has_form else pc.is_null(column.column(0))
        return pc.if_else(is_null, pa.scalar(None, pa.large_string()), values)

    return texts


def _quoted(texts: pa.Array) -> pa.Array:
    """Quote texts that need it, and texts that begin or end with a space, because some readers strip it."""
    texts = texts.cast(pa.large_string())
    needed = pc.or_(
        pc.match_substring_regex(texts, '[,"\r\n]|^[ \t]|[ \t]$|^\ufeff'), pc.equal(pc.binary_length(texts), 0)
    )
    quote = pa.scalar('"', pa.large_string())
    empty = pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(texts, '"', '""')
    whole = pc.binary_join_element_wise(quote, doubled, quote, empty)
    return pc.fill_null(pc.if_else(needed, whole, texts), "")
