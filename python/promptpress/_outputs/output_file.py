"""An output file: complete under its name, or not there at all."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import IO, BinaryIO, TextIO, cast

from promptpress._file_errors import OutputError, reason
from promptpress._outputs.early_writes import EarlyWrites
from promptpress._outputs.whole_writes import WholeWrites
from promptpress._places import is_remote, missing

STDOUT = "-"
STDOUT_DEVICES = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Other names of standard output: no files, and written as `-` is."""


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
    partial = PartialFile(path)
    try:
        with told(path):
            yield partial.open()
        partial.close()
        partial.rename(path)
    finally:
        partial.discard()


class PartialFile:
    """A file that is written beside its place and moved there in one step.

    Args:
        path: the name that it will have; nothing of the name is touched before `rename`.

    Raises:
        OutputError: when no file can have that name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     partial = PartialFile(f"{folder}/a")
        ...     _ = partial.open().write(b"x")
        ...     partial.close()
        ...     partial.rename(f"{folder}/b")
        ...     partial.discard()
        ...     os.listdir(folder)
        ['b']

    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = _place(path)
        folder, name = os.path.split(self._place)
        # The name is bounded: 255 bytes are all that a file system takes.
        self._temporary: str | None = os.path.join(folder, f".{name[:40]}.{os.urandom(6).hex()}.partial")
        self._file: IO[bytes] | None = None

    def open(self) -> IO[bytes]:
        """Open it; once.

        Returns:
            What takes the bytes.

        Raises:
            OutputError: when that fails.

        """
        with told(self._path):
            self._file = file = io.BufferedWriter(EarlyWrites(str(self._temporary)))
            with contextlib.suppress(FileNotFoundError):
                os.chmod(file.fileno(), os.stat(self._place).st_mode & 0o777)
        return file

    def close(self) -> None:
        """Write all of it to the disk.

        Raises:
            OutputError: when that fails.

        """
        if self._file is not None:
            with told(self._path), self._file as file:
                file.flush()
                os.fsync(file.fileno())

    def rename(self, path: str) -> None:
        """Move the closed file to its place.

        Args:
            path: the name; in the folder of the one that it was made with.

        Raises:
            OutputError: when that fails.

        """
        place = _place(path)
        with told(path):
            os.replace(str(self._temporary), place)
            self._temporary = None
            _sync_folder(os.path.split(place)[0])

    def discard(self) -> None:
        """Leave no trace of a file that hasn't got its name."""
        if self._temporary is None:
            return
        with _undisturbed():
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.close()
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
        self._temporary = None


def _place(path: str) -> str:
    """Where a file of this name lies."""
    if is_remote(path):
        raise OutputError(f"{path}: output goes to local files; write one and copy it there")
    place = os.path.realpath(path)  # a link keeps pointing where it points
    if os.path.isdir(place):
        raise OutputError(f"{path}: a folder, not a file")
    if os.path.exists(place) and not os.path.isfile(place):
        raise OutputError(f"{path}: not a regular file")
    return place


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
    if sys.stdout is None:
        raise OutputError("standard output: it is closed")
    try:
        with told("standard output"):
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
def told(path: str) -> Iterator[None]:
    """Say of an error of the system that it is about the output.

    Args:
        path: the file.

    Raises:
        OutputError: for an error of the system.

    Example:
        >>> with told("a.jsonl"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        promptpress._file_errors.OutputError: a.jsonl: No space left on device (disk full)

    """
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
