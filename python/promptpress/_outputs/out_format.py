"""How an output file is written, by its name: the format, and what it is compressed with."""

from __future__ import annotations

import os
from typing import IO, cast

import pyarrow as pa

from promptpress._file_errors import UsageError
from promptpress._inputs.formats import CODECS, FORMATS, Written, without_codec

OUT_FORMATS = ("parquet", "arrow", "jsonl", "csv")
"""Formats of prompts."""

_TEXTS = ("jsonl", "csv")
_CODECS = ("gzip", "zstd")
_FRAME_BYTES = 1 << 22


def out_format(path: str, given: str | None) -> Written:
    """Say how an output file is to be written.

    Args:
        path: the file.
        given: the format that the command line gives, which wins over the suffix.

    Returns:
        The format and the codec.

    Raises:
        UsageError: for any other suffix, or one of compression at a format that has its own.

    Example:
        >>> out_format("a.jsonl.gz", None)
        Written(format='jsonl', codec='gzip')

    """
    inner, codec = without_codec(path)
    suffix = os.path.splitext(inner)[1].lower()
    kind = given or FORMATS.get(suffix)
    if kind not in OUT_FORMATS:
        known = ", ".join(known for known, kind in FORMATS.items() if kind in OUT_FORMATS)
        if not suffix and os.path.isdir(path):
            raise UsageError(f"{path}: a folder, not a file; name a file in it")
        hint = "; prompts go out as JSON lines, .jsonl" if kind == "json" else ""
        raise UsageError(f"{path}: the suffix {suffix!r} is none of {known}; --out-format says the format{hint}")
    if codec is not None and kind not in _TEXTS:
        raise UsageError(
            f"{path}: {kind} is compressed inside, by --compression; leave out {os.path.splitext(path)[1]}"
        )
    if codec is not None and codec not in _CODECS:
        known = " and ".join(suffix for suffix, name in CODECS.items() if name in _CODECS)
        raise UsageError(f"{path}: {codec} is read, but not written; {known} are")
    return Written(kind, codec)


class CompressedFile:
    """Bytes on their way to a file, compressed by frames that stand one behind the other, as both formats allow.

    A frame holds as many bytes as any other, however they came, so that the same bytes are the same file. Nothing is
    written on the way out, so that it may be dropped at any time.

    Args:
        file: where the compressed bytes go.
        codec: `gzip` or `zstd`.

    Example:
        >>> import gzip, io
        >>> file = io.BytesIO()
        >>> out = CompressedFile(file, "gzip")
        >>> out.write(b"x"), out.finish(), gzip.decompress(file.getvalue())
        (1, None, b'x')

    """

    def __init__(self, file: IO[bytes], codec: str) -> None:
        self._file = file
        self._codec = pa.Codec(codec)
        self._waiting: list[bytes] = []
        self._size = 0
        self._is_empty = True

    def write(self, data: bytes) -> int:
        """Take some bytes; give how many."""
        left = memoryview(data)
        while self._size + len(left) >= _FRAME_BYTES:
            end = _FRAME_BYTES - self._size
            self._waiting.append(bytes(left[:end]))
            self._write_frame()
            left = left[end:]
        self._waiting.append(bytes(left))
        self._size += len(left)
        return len(data)

    def finish(self) -> None:
        """Write what is left; of no bytes a frame, too."""
        if self._size or self._is_empty:
            self._write_frame()

    def as_file(self) -> IO[bytes]:
        """Be taken for a file by what only writes."""
        return cast("IO[bytes]", self)

    def _write_frame(self) -> None:
        data = b"".join(self._waiting)
        self._waiting, self._size, self._is_empty = [], 0, False
        self._file.write(self._codec.compress(data, asbytes=True))
