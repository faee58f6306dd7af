"""Writers of Parquet, Arrow IPC, JSON lines and CSV, a record batch at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from promptpress.engine import RenderedLines
from promptpress.engine.errors import OutputError, reason
from promptpress.engine.tables import is_json, is_text, text_of, without_json
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.files.write.json_lines import LineWriter, Piece, object_pieces, slices
from promptpress_workbench.threads import background_writer


def takes_metadata_at_end(kind: str) -> bool:
    """Return true if a file of the format can have metadata that is known only when all rows are written."""
    return kind == "parquet" and hasattr(pq.ParquetWriter, "add_key_value_metadata")  # from pyarrow 18 on


class Writer(Protocol):
    """Writes record batches in one of the formats."""

    def write_batch(self, batch: pa.RecordBatch | RenderedLines) -> None:
        """Write one batch; only the writer of JSON lines takes `RenderedLines`."""

    def close(self) -> None:
        """Write the end of the file."""

    def abandon(self) -> None:
        """Write nothing more, not even when it is deleted: the file doesn't exist any longer."""


_AtEnd = Callable[[], Mapping[str, str]] | None


def open_writer(
    file: IO[bytes], kind: str, schema: pa.Schema, compression: str | None, *, requests: int = -1, at_end: _AtEnd = None
) -> Writer:
    """Open a writer of a format of `OUT_FORMATS`, to be closed before the file is.

    Without `compression` Parquet is compressed by zstd, and Arrow isn't. `requests` is the index of the requests'
    column, and `at_end` returns metadata when all batches have been written, if `takes_metadata_at_end`.
    """
    compression = compression and compression.lower()
    try:
        if kind == "parquet":
            return ParquetWriter(file, schema, compression or "zstd", at_end)
        if kind == "arrow":
            return ArrowWriter(file, schema, compression)
        return (JsonLinesWriter if kind == "jsonl" else CsvWriter)(file, schema, requests)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise OutputError(f"the {kind} output: {reason(error)}") from error


class ParquetWriter:
    """Writes Parquet; `at_end` returns the file's metadata when all batches have been written."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, compression: str, at_end: _AtEnd) -> None:
        self._writer = pq.ParquetWriter(file, schema, compression=compression)
        self._at_end = at_end if takes_metadata_at_end("parquet") else None

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        if self._at_end is not None:
            self._writer.add_key_value_metadata(dict(self._at_end()))
        self._writer.close()

    def abandon(self) -> None:
        self._writer.is_open = False  # else it closes itself when it is collected


class ArrowWriter:
    """Writes the file form of Arrow IPC."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, compression: str | None) -> None:
        options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
        self._sink = pa.PythonFile(file, mode="w")
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write one batch; raise `OutputError` if it has another dictionary than the first."""
        try:
            self._writer.write_batch(batch)
        except pa.ArrowInvalid as error:
            if "Dictionary replacement" not in str(error):
                raise
            names = [repr(field.name) for field in batch.schema if pa.types.is_dictionary(field.type)]
            raise OutputError(
                f"an Arrow file has one dictionary for a column, and these samples have several ({', '.join(names)}); "
                "write Parquet or JSON lines, or keep other columns"
            ) from error

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        """Do nothing: the writer doesn't close itself."""


def lines_of(schema: pa.Schema, requests: int = -1) -> LineWriter:
    """Make a writer of rows as JSON objects; messages in the requests' column are written with the keys they have."""
    request_name = schema.names[requests]
    members = [(name, Piece("request" if name == request_name else "value", column=name)) for name in schema.names]
    return LineWriter(schema, object_pieces(members))


class JsonLinesWriter:
    """Writes JSON lines, some in a thread while the next are made."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, requests: int) -> None:
        self._lines = lines_of(schema, requests)
        self._rows = 0
        self._file = file
        self._stack = contextlib.ExitStack()
        self._write = self._stack.enter_context(background_writer(self._write_lines))

    def _write_lines(self, arrays: Sequence[pa.LargeBinaryArray]) -> None:
        for lines in arrays:
            self._file.write(text_of(lines))

    def write_batch(self, batch: pa.RecordBatch | RenderedLines) -> None:
        if isinstance(batch, RenderedLines):
            self._write([batch.lines])
        else:
            for rows, first in slices(batch):
                self._write(self._lines.lines(rows, self._rows + first))
        self._rows += batch.num_rows

    def close(self) -> None:
        self._stack.close()

    def abandon(self) -> None:
        """Stop the thread; its error has been raised already."""
        with contextlib.suppress(Exception):
            self._stack.close()


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
        return bytes(text_of(lines))


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
