"""The table of output formats: the compressions of each format, and the class that writes it.

A new format is a class with the methods of `Writer`, and an entry of `OUT_FORMATS`; it has the suffixes of the input
format of the same name. The classes are imported when they are needed, because every command reads the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
from promptpress.engine.configs import CODECS, split_codec
from promptpress.engine.errors import OutputError, UsageError, close_names, reason

from promptpress_workbench.files.read.formats import SUFFIXES

if TYPE_CHECKING:
    from promptpress.engine import RenderedLines

_CODECS = ("gzip", "zstd")
"""The compressions of a whole file of text."""


class FileFormat(NamedTuple):
    """The format of an output file, and the compression of the whole file."""

    format: str
    codec: str | None


class Writer(Protocol):
    """Writes record batches in one of the formats."""

    def write_batch(self, batch: pa.RecordBatch | RenderedLines) -> None:
        """Write one batch; only the writer of JSON lines takes `RenderedLines`."""

    def close(self) -> None:
        """Write the end of the file."""

    def abandon(self) -> None:
        """Write nothing more, not even when it is deleted: the file doesn't exist any longer."""


_AtEnd = Callable[[], Mapping[str, str]] | None


class OutFormat(NamedTuple):
    """A format of outputs."""

    open: Callable[[IO[bytes], pa.Schema, str | None, int, _AtEnd], Writer]
    compressions: tuple[str, ...] = ()
    no_compression: str = ""

    @property
    def is_text(self) -> bool:
        """True for a format of text."""
        return not self.compressions


def _open_parquet(file: IO[bytes], schema: pa.Schema, compression: str | None, _: int, at_end: _AtEnd) -> Writer:
    from promptpress_workbench.files.write.writers import ParquetWriter  # noqa: PLC0415 - see the head

    return ParquetWriter(file, schema, compression or "zstd", at_end)


def _open_arrow(file: IO[bytes], schema: pa.Schema, compression: str | None, *_: Any) -> Writer:
    from promptpress_workbench.files.write.writers import ArrowWriter  # noqa: PLC0415 - see the head

    return ArrowWriter(file, schema, compression)


def _open_jsonl(file: IO[bytes], schema: pa.Schema, _: str | None, requests: int, __: _AtEnd) -> Writer:
    from promptpress_workbench.files.write.writers import JsonLinesWriter  # noqa: PLC0415 - see the head

    return JsonLinesWriter(file, schema, requests)


def _open_csv(file: IO[bytes], schema: pa.Schema, _: str | None, requests: int, __: _AtEnd) -> Writer:
    from promptpress_workbench.files.write.writers import CsvWriter  # noqa: PLC0415 - see the head

    return CsvWriter(file, schema, requests)


OUT_FORMATS = {
    "parquet": OutFormat(_open_parquet, ("zstd", "snappy", "gzip", "brotli", "lz4", "none")),
    "arrow": OutFormat(_open_arrow, ("zstd", "lz4", "none")),
    "jsonl": OutFormat(_open_jsonl, no_compression="JSON lines have"),
    "csv": OutFormat(_open_csv, no_compression="CSV has"),
}
"""The formats of outputs by name, in the order in which help and errors list them."""


def out_format(path: str, given: str | None) -> FileFormat:
    """Return the format of an output file: the given one, or else the suffix's."""
    inner, codec = split_codec(path)
    suffix = os.path.splitext(inner)[1].lower()
    name = given or SUFFIXES.get(suffix)
    if name not in OUT_FORMATS:
        if not suffix and os.path.isdir(path):
            raise UsageError(f"{path}: a folder, not a file; name a file in it")
        suffixes = ", ".join(other for other, format_name in SUFFIXES.items() if format_name in OUT_FORMATS)
        hint = "; prompts go out as JSON lines, .jsonl" if name == "json" else ""
        raise UsageError(f"{path}: the suffix {suffix!r} is none of {suffixes}; --out-format says the format{hint}")
    if codec is not None and not OUT_FORMATS[name].is_text:
        raise UsageError(
            f"{path}: {name} is compressed inside, by --compression; leave out {os.path.splitext(path)[1]}"
        )
    if codec is not None and codec not in _CODECS:
        suffixes = " and ".join(other for other, codec_name in CODECS.items() if codec_name in _CODECS)
        raise UsageError(f"{path}: {codec} is read, but not written; {suffixes} are")
    return FileFormat(name, codec)


def check_compression(kind: str, compression: str | None) -> None:
    """Raise `UsageError` if a format has no such compression."""
    out = OUT_FORMATS[kind]
    if compression is None or compression.lower() in (out.compressions or ("none",)):
        return
    if out.is_text:
        raise UsageError(
            f"{out.no_compression} no --compression; {compression} is for Parquet and Arrow;"
            f" name it out.{kind}.zst or .gz"
        )
    close = close_names(compression.lower(), out.compressions)
    hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(out.compressions)}"
    raise UsageError(f"--compression {compression}: not of {kind}; {hint}")


def open_writer(
    file: IO[bytes], kind: str, schema: pa.Schema, compression: str | None, *, requests: int = -1, at_end: _AtEnd = None
) -> Writer:
    """Open a writer of record batches, to be closed before the file is."""
    try:
        return OUT_FORMATS[kind].open(file, schema, compression and compression.lower(), requests, at_end)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise OutputError(f"the {kind} output: {reason(error)}") from error
