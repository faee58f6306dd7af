"""An output file: complete under its name, or not there at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from typing import IO, BinaryIO, TextIO, cast

from promptpress._file_errors import OutputError, reason
from promptpress._outputs.early_writes import EarlyWrites
from promptpress._outputs.locks import try_lock
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

    It is locked as long as it hasn't got its name, so that a file of a run that was killed is told from one that is
    being written: the former is deleted by the next run for the same name, the latter refuses it.

    Args:
        path: the name that it will have; nothing of the name is touched before `rename`.
        is_alone: whether nobody else writes a file of that name, and none is left.

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

    def __init__(self, path: str, *, is_alone: bool = False) -> None:
        self._path = path
        self._place = place_of(path)
        folder, name = os.path.split(self._place)
        self._stem = os.path.join(folder, f".{bounded(name)}.")
        self._temporary: str | None = None
        self._file: IO[bytes] | None = None
        self._is_alone = is_alone
        self._lock: int | None = None

    def open(self) -> IO[bytes]:
        """Open it; once.

        Returns:
            What takes the bytes.

        Raises:
            OutputError: when that fails.

        """
        with told(self._path):
            while not self._created():
                self._drop()
            assert self._file is not None
            file = self._file
            if not self._is_alone:
                self._meet_others()
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
        place = place_of(path)
        with told(path):
            os.replace(str(self._temporary), place)
            self._unlock()
            self._temporary = None
            _sync_folder(os.path.split(place)[0])

    def discard(self) -> None:
        """Leave no trace of a file that hasn't got its name."""
        if self._temporary is not None:
            with _undisturbed():
                self._drop()

    def _drop(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(str(self._temporary))
        self._unlock()
        self._temporary = self._file = None

    def _created(self) -> bool:
        """Make a new file; say whether it is ours, and not taken for a dead run's before it was locked."""
        self._temporary = f"{self._stem}{os.urandom(6).hex()}.partial"
        _OWN.add(self._temporary)
        self._file = io.BufferedWriter(EarlyWrites(self._temporary))
        if self._is_alone:
            return True
        self._lock = os.dup(self._file.fileno())  # shares the lock, and keeps it when the file is closed
        return try_lock(self._lock) is not False and os.path.exists(self._temporary)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        _OWN.discard(str(self._temporary))

    def _meet_others(self) -> None:
        """Delete what dead runs have left of this name; refuse to write beside one that lives."""
        folder, stem = os.path.split(self._stem)
        leftover = re.compile(re.escape(stem) + r"[0-9a-f]{12}\.partial")
        others = [os.path.join(folder, name) for name in os.listdir(folder) if leftover.fullmatch(name)]
        for other in others:
            if other in _OWN:
                continue
            with contextlib.suppress(OSError):
                handle = os.open(other, os.O_RDONLY)
                try:
                    is_ours = try_lock(handle)
                    if is_ours and os.path.samestat(os.fstat(handle), os.stat(other)):
                        os.unlink(other)
                finally:
                    os.close(handle)
                if is_ours is False:
                    raise OutputError(f"{self._path}: another run is writing it; wait for that, or stop it")


_OWN: set[str] = set()
"""Files of this process that haven't got their names yet: several may be shards of one."""

_LONGEST = 40


def bounded(name: str) -> str:
    """Shorten a file's name so that others can be made of it; 255 bytes are all that a file system takes.

    Args:
        name: the name.

    Returns:
        The name; of a long one its beginning, and what tells it from others with the same.

    Example:
        >>> bounded("prompts.parquet"), len(bounded("a" * 200))
        ('prompts.parquet', 40)

    """
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def place_of(path: str) -> str:
    """Say where a file of this name lies.

    Args:
        path: the name.

    Returns:
        The file, behind all links.

    Raises:
        OutputError: when no file can lie there.

    """
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
