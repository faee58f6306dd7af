"""The output: Parquet, Arrow IPC or JSONL, complete under its name or not there at all."""

from __future__ import annotations

import contextlib
import difflib
import errno
import io
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import IO, Any, BinaryIO, Protocol, TextIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from .._to_pylist import to_pylist
from .errors import OutputError, UsageError, reason
from .places import is_remote, missing
from .whole_writes import WholeWrites

STDOUT = "-"
STDOUT_DEVICES = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Other names of standard output: no files, and written as `-` is."""


class Writer(Protocol):
    """What writes record batches in one of the formats."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""

    def close(self) -> None:
        """Write what ends the file."""

    def abandon(self) -> None:
        """Write nothing more, not even on the way out: there is no file any longer."""


@contextlib.contextmanager
def output_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file that takes its name when it is complete.

    It is written beside its place, synced, and moved there in one step. Whatever ends the block early, an error or a
    signal that raises, leaves no trace, and what had the name before keeps it.

    Args:
        path: the name; `-` is standard output, which is written as it comes.

    Yields:
        The file to write to.

    Raises:
        OutputError: when it can't be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with output_file(f"{folder}/a") as file:
        ...         _ = file.write(b"x")
        ...         before = os.path.exists(f"{folder}/a")
        ...     before, os.listdir(folder)
        (False, ['a'])

    """
    if path == STDOUT:
        with standard_output():
            yield cast("IO[bytes]", WholeWrites(sys.stdout.buffer))
        return
    if is_remote(path):
        raise OutputError(f"{path}: output goes to local files; write one and copy it there")
    place = os.path.realpath(path)  # a link keeps pointing where it points
    if os.path.isdir(place):
        raise OutputError(f"{path}: a folder, not a file")
    if os.path.exists(place) and not os.path.isfile(place):
        raise OutputError(f"{path}: not a regular file")
    folder, name = os.path.split(place)
    # The name is bounded: 255 bytes are all that a file system takes.
    temporary = os.path.join(folder, f".{name[:40]}.{os.urandom(6).hex()}.partial")
    finished = False
    try:
        with _told(path):
            with open(temporary, "xb") as file:
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(file.fileno(), os.stat(place).st_mode & 0o777)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
            finished = True
            _sync_folder(folder)
    finally:
        if not finished:
            with _undisturbed(), contextlib.suppress(OSError):
                os.unlink(temporary)


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
    """Write to standard output, and leave it so that the interpreter's exit doesn't fail on it once more.

    Yields:
        The stream, flushed at the end.

    Raises:
        OutputError: when it can't be written, say because its reader is gone.

    Example:
        >>> with standard_output() as stream:
        ...     print("x", file=stream)
        x

    """
    try:
        with _told("standard output"):
            yield _unbuffered(sys.stdout)
            sys.stdout.flush()
    except OutputError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise


def _unbuffered(stream: TextIO) -> TextIO:
    """Write text whole where no buffer does it."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    raw_writes = cast("IO[bytes]", WholeWrites(cast("BinaryIO", raw)))
    return io.TextIOWrapper(raw_writes, stream.encoding, stream.errors, write_through=True)


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    """Say of an error of the system that it is about the output."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise OutputError(f"{path}: nobody reads it any more") from error
        if isinstance(error, FileNotFoundError):
            raise OutputError(f"{path}: {missing(path, error)}") from error
        hint = " (disk full)" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ""
        raise OutputError(f"{path}: {reason(error)}{hint}") from error


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Clean up to the end, even where Ctrl-C is pressed twice."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _sync_folder(folder: str) -> None:
    """Make the new name itself survive a crash, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_PARQUET_CODECS = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")
_CODECS = {"parquet": _PARQUET_CODECS, "arrow": ("zstd", "lz4", "none"), "jsonl": ("none",)}


def check_compression(kind: str, compression: str | None) -> None:
    """Refuse what a format can't be compressed with.

    Args:
        kind: `parquet`, `arrow` or `jsonl`.
        compression: as the command line has it.

    Raises:
        UsageError: for a name that isn't one of the format's.

    Example:
        >>> check_compression("arrow", "zst")
        Traceback (most recent call last):
        ...
        promptpress._cli.errors.UsageError: --compression zst: not of arrow; did you mean 'zstd'?

    """
    if compression is None or compression.lower() in _CODECS[kind]:
        return
    if kind == "jsonl":
        raise UsageError(f"JSON lines have no --compression; {compression} is for Parquet and Arrow")
    close = difflib.get_close_matches(compression.lower(), _CODECS[kind], 1)
    hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(_CODECS[kind])}"
    raise UsageError(f"--compression {compression}: not of {kind}; {hint}")


def open_writer(file: IO[bytes], kind: str, schema: pa.Schema, compression: str | None) -> Writer:
    r"""Open a writer of record batches.

    Args:
        file: where the bytes go.
        kind: `parquet`, `arrow` or `jsonl`.
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
