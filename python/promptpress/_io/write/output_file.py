"""Output files that are complete under their names or don't exist, standard output, and locks against other runs."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import signal
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any, BinaryIO, TextIO, cast

from promptpress._errors.file_errors import OutputError, ReaderGoneError, reason
from promptpress._io.paths import is_remote, missing
from promptpress._io.write.streams import EarlyWrites, WholeWrites

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

STDOUT = "-"
STDOUT_DEVICES = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Other names of standard output, which isn't a regular file."""

_unnamed: set[str] = set()
"""The files of this process that haven't got their names yet, such as several shards of one output."""

_MAX_NAME = 40


@contextlib.contextmanager
def output_file(path: str, *, is_alone: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when it is complete; `-`, standard output, and pipes are written at once.

    It is written under another name in the same folder, synced, and renamed. If an error or a signal ends the block
    early, it is deleted, and an older file of the name stays. `is_alone` is that of `PartialFile`.

    Raises:
        OutputError: If the file can't be written.

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
    if is_stream(path):
        with output_errors(path), open(path, "wb") as stream:
            yield stream
        return
    partial = PartialFile(path, is_alone=is_alone)
    try:
        with output_errors(path):
            yield partial.open()
        partial.close()
        partial.rename(path)
    finally:
        partial.discard()


def is_stream(path: str) -> bool:
    """Return true for a pipe, and for the device that takes any output and keeps none: both take bytes as they come."""
    if os.path.realpath(path) == os.path.realpath(os.devnull):
        return True
    with contextlib.suppress(OSError, ValueError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


class PartialFile:
    """A file that is written under a temporary name in the same folder, and renamed when it is complete.

    It is locked until it gets its name. So the next run for the same name deletes the file of a killed run, but raises
    an error if another run is still writing one.

    Args:
        path: The final name; a file of this name stays as it is until `rename`.
        is_alone: No other run writes a file of that name or has left one.

    Raises:
        OutputError: If no file can have that name.

    """

    def __init__(self, path: str, *, is_alone: bool = False) -> None:
        self._path = path
        self._target = resolve_output(path)
        folder, name = os.path.split(self._target)
        self._stem = os.path.join(folder, f".{bounded(name)}.")
        self._temporary: str | None = None
        self._file: IO[bytes] | None = None
        self._is_alone = is_alone
        self._lock: int | None = None

    def open(self) -> IO[bytes]:
        """Create the file; raise `OutputError` if that fails."""
        with output_errors(self._path):
            while not self._created():
                self._drop()
            assert self._file is not None
            file = self._file
            if not self._is_alone:
                self._handle_others()
            with contextlib.suppress(FileNotFoundError):
                os.chmod(file.fileno(), os.stat(self._target).st_mode & 0o777)
        return file

    def close(self) -> None:
        """Write all bytes to the disk; raise `OutputError` if that fails."""
        if self._file is not None:
            with output_errors(self._path), self._file as file:
                file.flush()
                os.fsync(file.fileno())

    def rename(self, path: str) -> None:
        """Give the closed file a name in its folder; raise `OutputError` if that fails."""
        target = resolve_output(path)
        with output_errors(path):
            os.replace(str(self._temporary), target)
            self._unlock()
            self._temporary = None
            _sync_folder(os.path.split(target)[0])

    @property
    def inode(self) -> int:
        """The number by which the file is known, whatever its name is."""
        return os.stat(str(self._temporary)).st_ino

    def discard(self) -> None:
        """Delete the file if it hasn't got its name."""
        if self._temporary is not None:
            # Clean up even if Ctrl-C is pressed twice.
            with handled_signals((signal.SIGINT, signal.SIGTERM), signal.SIG_IGN):
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
        """Create and lock a new file; return false if another run has deleted it as a leftover before it was locked."""
        self._temporary = f"{self._stem}{os.urandom(6).hex()}.partial"
        _unnamed.add(self._temporary)
        self._file = io.BufferedWriter(EarlyWrites(self._temporary))
        if self._is_alone:
            return True
        self._lock = os.dup(self._file.fileno())  # shares the lock, and keeps it after the file is closed
        return try_lock(self._lock) is not False and os.path.exists(self._temporary)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        _unnamed.discard(str(self._temporary))

    def _handle_others(self) -> None:
        """Delete the leftovers of dead runs for this name; raise `OutputError` if another run is alive."""
        folder, stem = os.path.split(self._stem)
        leftover = re.compile(re.escape(stem) + r"[0-9a-f]{12}\.partial")
        others = [os.path.join(folder, name) for name in os.listdir(folder) if leftover.fullmatch(name)]
        for other in others:
            if other in _unnamed:
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
                    raise other_run_error(self._path)


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed; return false if another process has it, None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def other_run_error(path: str) -> OutputError:
    """Make the error for an output that another run is writing."""
    return OutputError(f"{path}: another run is writing it; wait for that, or stop it")


def bounded(name: str) -> str:
    """Shorten a file's name so that longer names can be made of it; a file system takes 255 bytes.

    A name that is too long keeps its beginning, and gets digits of its hash.

    Example:
        >>> bounded("prompts.parquet"), len(bounded("a" * 200))
        ('prompts.parquet', 40)

    """
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - 9]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def resolve_output(path: str) -> str:
    """Follow the links of a path; raise `OutputError` if it isn't that of a regular local file."""
    if is_remote(path):
        raise OutputError(f"{path}: output goes to local files; write one and copy it there")
    target = os.path.realpath(path)  # a link keeps pointing where it points
    if os.path.isdir(target):
        raise OutputError(f"{path}: a folder, not a file")
    if os.path.exists(target) and not os.path.isfile(target):
        raise OutputError(f"{path}: not a regular file")
    return target


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
    """Yield standard output, which is flushed at the end; after an error, the interpreter's exit doesn't fail again.

    Raises:
        OutputError: If it can't be written, for example because its reader is gone.

    """
    if sys.stdout is None:
        raise OutputError("standard output: it is closed")
    try:
        with output_errors("standard output"):
            yield _unbuffered(sys.stdout)
            sys.stdout.flush()
    except OutputError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise


def _unbuffered(stream: TextIO) -> TextIO:
    """Return a stream that writes all of each text if the given one has no buffer."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    raw_writes = cast("IO[bytes]", WholeWrites(cast("BinaryIO", raw)))
    return io.TextIOWrapper(raw_writes, stream.encoding, stream.errors, write_through=True)


@contextlib.contextmanager
def output_errors(path: str) -> Iterator[None]:
    """Turn an error of the system into an `OutputError` about a file.

    Example:
        >>> with output_errors("a.jsonl"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        promptpress._errors.file_errors.OutputError: a.jsonl: No space left on device (disk full)

    """
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise ReaderGoneError(f"{path}: nobody reads it any more") from error
        if isinstance(error, FileNotFoundError):
            raise OutputError(f"{path}: {missing(path, error)}") from error
        hint = " (disk full)" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ""
        raise OutputError(f"{path}: {reason(error)}{hint}") from error


@contextlib.contextmanager
def handled_signals(numbers: Iterable[int], handler: Any) -> Iterator[None]:
    """Handle some signals otherwise within a block; in other threads than the main one, change nothing."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers} if is_main else {}
    try:
        yield
    finally:
        for number, original in before.items():
            signal.signal(number, original)


def _sync_folder(folder: str) -> None:
    """Sync a folder so that a new name survives a crash, if the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
