"""Where the bytes of a file of samples come from: the disk, standard input or an address, compressed or not."""

from __future__ import annotations

import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack
from typing import IO, Any, BinaryIO, cast

import pyarrow as pa

from promptpress._file_errors import DataError
from promptpress._inputs.formats import STDIN, without_codec
from promptpress._inputs.remote import copy_remote, open_remote
from promptpress._places import is_remote

_COPY_BYTES = 1 << 20


class Source:
    """One file, to be read from the start as often as is needed.

    What can be read only once, or only from afar, is copied to a temporary file first: types are known when all has
    been read, and nothing is to be held in memory for that. Columnar files at an address that gives any stretch of them
    are read where they are.

    Args:
        path: the file, its address, or `-`.
        stack: closes what is opened for longer.

    """

    def __init__(self, path: str, stack: ExitStack) -> None:
        self.path = path
        self._codec = without_codec(path)[1]
        self._stack = stack
        self._copy: IO[bytes] | None = None

    def open(self) -> BinaryIO:
        """Open it, as text formats want it; one reader at a time.

        Returns:
            The bytes, no longer compressed.

        Raises:
            OSError: when it can't be opened.

        """
        if self._is_read_once() or is_remote(self.path):
            self._copy = self._copied() if self._copy is None else self._copy
            self._copy.seek(0)
            raw = cast("BinaryIO", open(self._copy.fileno(), "rb", closefd=False))  # noqa: SIM115 - the caller's
        else:
            raw = open(self.path, "rb")  # noqa: SIM115 - the caller closes it
        return raw if self._codec is None else _decompressed(raw, self._codec, self.path)

    def open_anywhere(self) -> Any:
        """Open it for jumps to and fro, as columnar formats want it.

        Returns:
            A path, or a file of pyarrow's.

        Raises:
            OSError: when it can't be opened.

        """
        if self._codec is not None:
            copy = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
            with self.open() as file:
                shutil.copyfileobj(file, copy, _COPY_BYTES)
            copy.seek(0)
            return self._stack.enter_context(pa.PythonFile(copy, mode="r"))
        if self._is_read_once():
            self._copy = self._copied() if self._copy is None else self._copy
            self._copy.seek(0)
            return self._stack.enter_context(pa.PythonFile(self._copy, mode="r"))
        if not is_remote(self.path):
            if self.path.isascii():
                return self.path
            # pyarrow takes the bytes of a name, which needn't be UTF-8.
            return self._stack.enter_context(pa.OSFile(os.fsencode(self.path), "rb"))
        there = self._stack.enter_context(open_remote(self.path) or self._copied())
        there.seek(0)
        return self._stack.enter_context(pa.PythonFile(there, mode="r"))

    def _is_read_once(self) -> bool:
        """Whether it is a pipe: standard input, a named one, or a shell's `<(...)`."""
        if self.path == STDIN:
            return True
        try:
            return not is_remote(self.path) and stat.S_ISFIFO(os.stat(self.path).st_mode)
        except (OSError, ValueError):
            return False  # what is wrong is said by who opens it

    def _copied(self) -> IO[bytes]:
        if is_remote(self.path):
            return self._stack.enter_context(copy_remote(self.path))
        copy = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        if self.path != STDIN:
            with open(self.path, "rb") as pipe:
                shutil.copyfileobj(pipe, copy, _COPY_BYTES)
            return copy
        if sys.stdin is None or sys.stdin.isatty():
            raise DataError("standard input is a terminal; samples are piped into it, as by `cat FILE |`")
        shutil.copyfileobj(sys.stdin.buffer, copy, _COPY_BYTES)
        return copy


def _decompressed(raw: BinaryIO, codec: str, path: str) -> BinaryIO:
    if not raw.peek(1):  # type: ignore[attr-defined]  # a buffered reader
        raw.close()
        raise DataError(f"{path}: empty: no {codec} data, not even of no bytes")
    if codec == "xz":
        return cast("BinaryIO", _Closing(lzma.LZMAFile(raw), raw))
    return cast("BinaryIO", _Closing(pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec), raw))


class _Closing(io.BufferedReader):
    """A buffered reader that closes the file beneath, too."""

    def __init__(self, stream: Any, raw: BinaryIO) -> None:
        super().__init__(stream, _COPY_BYTES)
        self._beneath = raw

    def close(self) -> None:
        """Close both."""
        super().close()
        self._beneath.close()
