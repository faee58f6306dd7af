"""CSV as RFC 4180 has it, written a record batch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Literal

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._file_errors import OutputError
from promptpress._outputs.json_lines import LineWriter, Piece


class CsvWriter:
    r"""One row a request, with a header; lines end with CR and LF.

    Text stands as it is, quoted where it has to be. What is no text is written as in JSON lines: messages and other
    nested values as JSON, times as their text. Null is an empty field, an empty text `""`: few readers tell them apart,
    but what is there to tell isn't thrown away.

    Args:
        file: where the bytes go.
        schema: of the batches.
        requests: the number of the requests' column; the last.

    Raises:
        OutputError: when a name holds what no reader gets back.

    Example:
        >>> import io
        >>> batch = pa.record_batch({"id": [1, None], "prompt": ['a "b"\nc', ""]})
        >>> file = io.BytesIO()
        >>> CsvWriter(file, batch.schema).write_batch(batch)
        >>> file.getvalue()
        b'id,prompt\r\n1,"a ""b""\nc"\r\n,""\r\n'

    """

    def __init__(self, file: IO[bytes], schema: pa.Schema, requests: int = -1) -> None:
        self._file = file
        self._first_row = 0
        # The messages of requests are written with the keys that they have.
        own = requests % len(schema)
        self._texts = [_texts(field, "request" if at == own else "value") for at, field in enumerate(schema)]
        if not all(schema.names):
            raise OutputError("the csv output: a column has an empty name; leave it out of --keep")
        self._file.write(self._rows([_quoted(pa.array([name])) for name in schema.names]))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""
        if batch.num_rows:
            texts = [texts(batch, self._first_row) for texts in self._texts]
            self._file.write(self._rows([_quoted(column) for column in texts]))
        self._first_row += batch.num_rows

    def close(self) -> None:
        """Write what ends the file: nothing."""

    def abandon(self) -> None:
        """Write nothing more."""

    def _rows(self, columns: list[pa.Array]) -> bytes:
        separator, end = pa.scalar(",", pa.large_string()), pa.scalar("\r\n", pa.large_string())
        rows = pc.binary_join_element_wise(*columns, separator)
        lines = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), end)
        # Line after line is what lies in memory.
        offsets, data = lines.buffers()[1:]
        ends = memoryview(offsets).cast("q")
        return bytes(memoryview(data)[ends[lines.offset] : ends[lines.offset + len(lines)]])


def _texts(field: pa.Field, kind: Literal["value", "request"]) -> Callable[[pa.RecordBatch, int], pa.Array]:
    """What gives a column's values as texts: of values that JSON has a form for, that; of others their text."""
    name, data_type = field.name, field.type
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        return lambda batch, _: batch.column(name)
    has_form = types.is_nested(data_type) or types.is_integer(data_type) or types.is_floating(data_type)
    has_form = has_form or types.is_boolean(data_type)
    lines = LineWriter(pa.schema([field]), [Piece(kind if has_form else "plain", column=name)])

    def texts(batch: pa.RecordBatch, first_row: int) -> pa.Array:
        column = batch.select([name])
        found = pa.concat_arrays(lines.lines(column, first_row)).cast(pa.large_string())
        is_null = pc.equal(found, "null") if has_form else pc.is_null(column.column(0))
        return pc.if_else(is_null, pa.scalar(None, pa.large_string()), found)

    return texts


def _quoted(texts: pa.Array) -> pa.Array:
    """Quote what has to be; a text that begins or ends with a space, too, which some readers take off."""
    texts = texts.cast(pa.large_string())
    needed = pc.or_(
        pc.match_substring_regex(texts, '[,"\r\n]|^[ \t]|[ \t]$|^\ufeff'), pc.equal(pc.binary_length(texts), 0)
    )
    quote = pa.scalar('"', pa.large_string())
    empty = pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(texts, '"', '""')
    whole = pc.binary_join_element_wise(quote, doubled, quote, empty)
    return pc.fill_null(pc.if_else(needed, whole, texts), "")
