"""The formats of an output: Parquet, Arrow IPC and JSON lines, written a record batch at a time."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import OutputError, UsageError, reason
from promptpress._large_texts import text_of
from promptpress._outputs.background_writer import background_writer
from promptpress._outputs.csv_writer import CsvWriter
from promptpress._outputs.json_lines import LineWriter, Piece, object_pieces, slices
from promptpress._rendered_lines import RenderedLines


class Writer(Protocol):
    """What writes record batches in one of the formats."""

    def write_batch(self, batch: pa.RecordBatch | RenderedLines) -> None:
        """Write one batch; rows that are lines already are for JSON lines only."""

    def close(self) -> None:
        """Write what ends the file."""

    def abandon(self) -> None:
        """Write nothing more, not even on the way out: there is no file any longer."""


_PARQUET_CODECS = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")
_CODECS = {"parquet": _PARQUET_CODECS, "arrow": ("zstd", "lz4", "none"), "jsonl": ("none",), "csv": ("none",)}


def check_compression(kind: str, compression: str | None) -> None:
    """Refuse what a format can't be compressed with.

    Args:
        kind: one of `promptpress._outputs.out_format.OUT_FORMATS`.
        compression: as the command line has it.

    Raises:
        UsageError: for a name that isn't one of the format's.

    Example:
        >>> check_compression("arrow", "zst")
        Traceback (most recent call last):
        ...
        promptpress._file_errors.UsageError: --compression zst: not of arrow; did you mean 'zstd'?

    """
    if compression is None or compression.lower() in _CODECS[kind]:
        return
    if kind in ("jsonl", "csv"):
        what = "JSON lines have" if kind == "jsonl" else "CSV has"
        raise UsageError(
            f"{what} no --compression; {compression} is for Parquet and Arrow; name it out.{kind}.zst or .gz"
        )
    close = difflib.get_close_matches(compression.lower(), _CODECS[kind], 1)
    hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(_CODECS[kind])}"
    raise UsageError(f"--compression {compression}: not of {kind}; {hint}")


def takes_metadata_at_end(kind: str) -> bool:
    """Whether a format's files can say what is known only when all rows are written.

    Args:
        kind: one of `promptpress._outputs.out_format.OUT_FORMATS`.

    Example:
        >>> takes_metadata_at_end("arrow")
        False

    """
    return kind == "parquet" and hasattr(pq.ParquetWriter, "add_key_value_metadata")  # from pyarrow 18 on


def open_writer(
    file: IO[bytes],
    kind: str,
    schema: pa.Schema,
    compression: str | None,
    *,
    requests: int = -1,
    at_end: Callable[[], Mapping[str, str]] | None = None,
) -> Writer:
    r"""Open a writer of record batches.

    Args:
        file: where the bytes go.
        kind: one of `promptpress._outputs.out_format.OUT_FORMATS`.
        schema: of the batches.
        compression: of Parquet, by default zstd; of Arrow, by default none.
        requests: the number of the requests' column; the last.
        at_end: gives metadata when all batches have been written, where `takes_metadata_at_end`.

    Returns:
        The writer, to be closed before the file is.

    Raises:
        OutputError: when the format can't hold the schema.

    Example:
        >>> import io
        >>> batch = pa.record_batch({"prompt": ["é"]})
        >>> file = io.BytesIO()
        >>> writer = open_writer(file, "jsonl", batch.schema, None)
        >>> writer.write_batch(batch)
        >>> writer.close()
        >>> file.getvalue().decode()
        '{"prompt": "é"}\n'

    """
    compression = compression and compression.lower()
    try:
        if kind == "jsonl":
            return _JsonLinesWriter(file, schema, requests)
        if kind == "csv":
            return CsvWriter(file, schema, requests)
        if kind == "arrow":
            options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
            return _ArrowWriter(file, schema, options)
        return _ParquetWriter(file, schema, compression or "zstd", at_end)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise OutputError(f"the {kind} output: {reason(error)}") from error


class _ParquetWriter:
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


class _ArrowWriter:
    def __init__(self, file: IO[bytes], schema: pa.Schema, options: pa.ipc.IpcWriteOptions) -> None:
        self._sink = pa.PythonFile(file, mode="w")
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        try:
            self._writer.write_batch(batch)
        except pa.ArrowInvalid as error:
            if "Dictionary replacement" not in str(error):
                raise
            names = [repr(field.name) for field in batch.schema if pa.types.is_dictionary(field.type)]
            message = (
                f"an Arrow file has one dictionary for a column, and these samples have several ({', '.join(names)}); "
                "write Parquet or JSON lines, or keep other columns"
            )
            raise OutputError(message) from error

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        pass


def lines_of(schema: pa.Schema, requests: int = -1) -> LineWriter:
    r"""Make what writes rows as JSON lines: one object a line; text as it is, not escaped to ASCII.

    Args:
        schema: of the batches.
        requests: the number of the requests' column, whose messages are written with the keys that they have; the last.

    Returns:
        The writer of lines.

    Example:
        >>> batch = pa.record_batch({"prompt": ["é"]})
        >>> lines_of(batch.schema).lines(batch)[0].to_pylist()
        [b'{"prompt": "\xc3\xa9"}\n']

    """
    of_requests = schema.names[requests]
    members = [(name, Piece("request" if name == of_requests else "value", column=name)) for name in schema.names]
    return LineWriter(schema, object_pieces(members))


class _JsonLinesWriter:
    def __init__(self, file: IO[bytes], schema: pa.Schema, requests: int) -> None:
        self._lines = lines_of(schema, requests)
        self._file = file
        self._rows = 0
        self._stack = contextlib.ExitStack()
        self._write = self._stack.enter_context(background_writer(self._write_lines))

    def _write_lines(self, several: Sequence[pa.LargeBinaryArray]) -> None:
        for lines in several:
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
        with contextlib.suppress(Exception):  # what went wrong has been told
            self._stack.close()
