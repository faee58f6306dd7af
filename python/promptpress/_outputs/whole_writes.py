"""Bytes to a stream that may take fewer than it is given: all of them, or an error."""

from __future__ import annotations

import io
import select
import time
from typing import Any, BinaryIO


class WholeWrites(io.RawIOBase):
    """A stream whose every write is written whole.

    Standard output needn't be buffered (`PYTHONUNBUFFERED`, `python -u`), and a write of the system's may be short: at
    a full disk, at a file's largest size, at a pipe with a slow reader where the process is stopped and continued. What
    is left is written then, or the system says why it can't be. A pipe that doesn't block is waited for.

    Args:
        stream: a binary stream, buffered or not. It stays open.

    Example:
        >>> stream = io.BytesIO()
        >>> WholeWrites(stream).write(b"ab"), stream.getvalue()
        (2, b'ab')

    """

    def __init__(self, stream: BinaryIO) -> None:
        stream.flush()
        # A buffer in between would say of an error only later what was written.
        self._stream: Any = getattr(stream, "raw", stream)

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write all of some bytes.

        Args:
            data: bytes, or what has the buffer interface.

        Returns:
            How many there were.

        Raises:
            OSError: when the system takes no more of them.

        """
        left = memoryview(data).cast("B")
        count = len(left)
        while left:
            try:
                taken = self._stream.write(left)
            except BlockingIOError as error:
                taken = error.characters_written
            left = left[taken or 0 :]
            if not taken:
                self._wait()
        return count

    def _wait(self) -> None:
        try:
            select.select([], [self._stream], [])
        except (OSError, TypeError, ValueError):  # nothing that can be waited for: Windows' pipes
            time.sleep(0.01)
