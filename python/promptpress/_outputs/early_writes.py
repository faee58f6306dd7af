"""A file whose bytes go to the disk while more of them are made."""

from __future__ import annotations

import contextlib
import io
import os
from typing import Any

_STEP = 8 << 20
"""So many bytes are handed to the disk at a time: few, and it stands still in the end; many, and each wait is one."""


class EarlyWrites(io.FileIO):
    """A new file of which the system begins to write what it has been given at once.

    Left to itself it begins after seconds, when all is there, and the sync in the end would wait for all of it.

    Args:
        path: its name, which nothing has yet.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with EarlyWrites(f"{folder}/a") as file:
        ...         file.write(b"x")
        1

    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "xb")
        self._begun = 0
        self._given = 0

    def write(self, data: Any) -> int:
        """Write some bytes.

        Args:
            data: bytes, or what has the buffer interface.

        Returns:
            How many have been written.

        Raises:
            OSError: when the system takes none.

        """
        count = super().write(data)
        self._given += count
        if self._given - self._begun >= _STEP and hasattr(os, "posix_fadvise"):
            # That nobody will read them is why Linux writes them now; a hint, wherever it isn't heard.
            with contextlib.suppress(OSError):
                os.posix_fadvise(self.fileno(), self._begun, self._given - self._begun, os.POSIX_FADV_DONTNEED)
            self._begun = self._given
        return count
