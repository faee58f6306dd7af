"""Byte streams that outputs are written through: to disk early, completely, compressed, or hashed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import select
import time
from typing import IO, Any, BinaryIO, cast

import pyarrow as pa

_STEP = 8 << 20
"""The bytes that go to the disk at a time: with fewer it is idle in the end, with more each wait is longer."""

_FRAME_BYTES = 1 << 22


class EarlyWrites(io.FileIO):
    """A new file whose bytes go to the disk while more are made.

    By default the system begins after seconds, when all bytes are there, and the sync in the end waits for all of them.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "xb")
        self._flushed = 0
        self._written = 0

    def write(self, data: Any) -> int:
        """Write some bytes, like `io.FileIO`; it may write fewer than there are."""
        count = super().write(data)
        self._written += count
        if self._written - self._flushed >= _STEP and hasattr(os, "posix_fadvise"):
            # Linux writes bytes at once if it is told that nobody will read them; other systems may ignore the hint.
            with contextlib.suppress(OSError):
                os.posix_fadvise(self.fileno(), self._flushed, self._written - self._flushed, os.POSIX_FADV_DONTNEED)
            self._flushed = self._written
        return count


class WholeWrites(io.RawIOBase):
    """A stream over a binary one, buffered or not, that writes all bytes of each write, or raises an error.

    Standard output may have no buffer (`PYTHONUNBUFFERED`, `python -u`), and the system may write fewer bytes: at a
    full disk, at the largest size of a file, or at a pipe with a slow reader if the process is stopped and continued.
    Then this writes the rest, or the system says why it can't. It waits for a pipe that doesn't block.
    """

    def __init__(self, stream: BinaryIO) -> None:
        stream.flush()
        # With a buffer in between, an error would come later than the write.
        self._stream: Any = getattr(stream, "raw", stream)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write all bytes of a buffer; return their number."""
        rest = memoryview(data).cast("B")
        count = len(rest)
        while rest:
            try:
                written = self._stream.write(rest)
            except BlockingIOError as error:
                written = error.characters_written
            rest = rest[written or 0 :]
            if not written:
                self._wait()
        return count

    def _wait(self) -> None:
        try:
            select.select([], [self._stream], [])
        except (OSError, TypeError, ValueError):  # not selectable, like Windows' pipes
            time.sleep(0.01)


class CompressedFile:
    """Bytes that are compressed on the way to a file, in frames one after the other, which both formats allow.

    All frames but the last hold the same number of bytes, so that the same bytes give the same file. Nothing is written
    when it is deleted, so it may be dropped at any time.
    """

    def __init__(self, file: IO[bytes], codec: str) -> None:
        self._file = file
        self._codec = pa.Codec(codec)
        self._pending = bytearray()
        self._is_empty = True

    def write(self, data: bytes) -> int:
        """Take some bytes; return their number."""
        rest = memoryview(data)
        while len(self._pending) + len(rest) >= _FRAME_BYTES:
            end = _FRAME_BYTES - len(self._pending)
            self._pending += rest[:end]
            self._write_frame()
            rest = rest[end:]
        self._pending += rest
        return len(data)

    def finish(self) -> None:
        """Write the last frame; no bytes at all make a frame, too."""
        if self._pending or self._is_empty:
            self._write_frame()

    def as_file(self) -> IO[bytes]:
        """Return itself, with the type of a file, for code that only writes."""
        return cast("IO[bytes]", self)

    def _write_frame(self) -> None:
        data = self._pending
        self._pending, self._is_empty = bytearray(), False
        self._file.write(self._codec.compress(data, asbytes=True))


class HashedWrites(io.RawIOBase):
    """A stream that writes to a file and hashes the bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def digest(self) -> str:
        return self._hash.hexdigest()[:32]
