"""Writers of Parquet, Arrow IPC and JSON lines, a record batch at a time; `formats` opens them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
from promptpress.engine import RenderedLines
from promptpress.engine.errors import OutputError
from promptpress.engine.tables import text_of

from promptpress_workbench.files.write.background_writer import background_writer
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, object_pieces, slices


def takes_metadata_at_end(kind: str) -> bool:
    """Return true if a file of the format can have metadata that is known only when all rows are written."""
    return kind == "parquet" and hasattr(pq.ParquetWriter, "add_key_value_metadata")  # from pyarrow 18 on


class ParquetWriter:
    """Writes Parquet; `at_end` returns the file's metadata when all batches have been written."""

    def __init__(
        self, file: IO[bytes], schema: pa.Schema, compression: str, at_end: Callable[[], Mapping[str, str]] | None
    ) -> None:
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
        self._file = file
        self._rows = 0
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
