"""The formats of an output: Parquet, Arrow IPC and JSON lines, written a record batch at a time."""

from __future__ import annotations

import difflib
import json
import math
from json.encoder import encode_basestring
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import OutputError, UsageError, reason
from promptpress._outputs.csv_writer import CsvWriter
from promptpress._to_pylist import to_pylist


class Writer(Protocol):
    """What writes record batches in one of the formats."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""

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


def open_writer(file: IO[bytes], kind: str, schema: pa.Schema, compression: str | None) -> Writer:
    r"""Open a writer of record batches.

    Args:
        file: where the bytes go.
        kind: one of `promptpress._outputs.out_format.OUT_FORMATS`.
        schema: of the batches, the requests last.
        compression: of Parquet, by default zstd; of Arrow, by default none.

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
            return _JsonLinesWriter(file)
        if kind == "csv":
            return CsvWriter(file, schema)
        if kind == "arrow":
            options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
            return _ArrowWriter(file, schema, options)
        return _ParquetWriter(file, schema, compression or "zstd")
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise OutputError(f"the {kind} output: {reason(error)}") from error


class _ParquetWriter:
    def __init__(self, file: IO[bytes], schema: pa.Schema, compression: str) -> None:
        self._writer = pq.ParquetWriter(file, schema, compression=compression)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        self._writer.is_open = False  # else it closes itself when it is collected


class _ArrowWriter:
    def __init__(self, file: IO[bytes], schema: pa.Schema, options: pa.ipc.IpcWriteOptions) -> None:
        self._sink = pa.PythonFile(file, mode="w")
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        pass


class _JsonLinesWriter:
    """One object a line; text as it is, not escaped to ASCII."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write_batch(self, batch: pa.RecordBatch) -> None:
        # The requests come last; their messages are written with the keys that they have.
        *kept, prompts = batch.columns
        values = [column.to_pylist() for column in kept] + [to_pylist(prompts)]
        columns = [_members(name, column) for name, column in zip(batch.schema.names, values, strict=True)]
        lines = ["{" + ", ".join(row) + "}\n" for row in zip(*columns, strict=True)]
        self._file.write("".join(lines).encode())

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)


def _members(name: str, values: list[Any]) -> list[str]:
    """Write one member of each row's object; column by column is several times faster than row by row."""
    key = encode_basestring(name) + ": "
    if isinstance(next((v for v in values if v is not None), None), str):
        return [key + ("null" if value is None else encode_basestring(value)) for value in values]
    return [key + _encoded(value) for value in values]


def _encoded(value: Any) -> str:
    """Write a value as JSON; what it has no form for (times, decimals, bytes) is its text, the same as in a prompt."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_without_nan(value))


def _without_nan(value: Any) -> Any:
    """JSON has neither NaN nor infinities: null, as JavaScript writes them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, list) else value
