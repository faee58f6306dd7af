"""The table of output formats, with the compressions of each.

A new format is an entry of `OUT_FORMATS`, with the suffixes of the input format of the same name, and a class with the
methods of `Writer`, which `open_writer` opens. Every command reads the table, so it imports little.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from promptpress.engine.configs import CODECS, split_codec
from promptpress.engine.errors import UsageError, close_names

from promptpress_workbench.files.read.formats import SUFFIXES

_CODECS = ("gzip", "zstd")
"""The compressions of a whole file of text."""


class FileFormat(NamedTuple):
    """The format of an output file, and the compression of the whole file."""

    format: str
    codec: str | None


class OutFormat(NamedTuple):
    """A format of outputs: the names for `--compression`, or else the beginning of the error for a format of text."""

    compressions: tuple[str, ...] = ()
    no_compression: str = ""

    @property
    def is_text(self) -> bool:
        """True for a format of text, whose files are compressed as a whole."""
        return not self.compressions


OUT_FORMATS = {
    "parquet": OutFormat(("zstd", "snappy", "gzip", "brotli", "lz4", "none")),
    "arrow": OutFormat(("zstd", "lz4", "none")),
    "jsonl": OutFormat(no_compression="JSON lines have"),
    "csv": OutFormat(no_compression="CSV has"),
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
