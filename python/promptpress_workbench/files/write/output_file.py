"""Output files that are complete under their names or don't exist, standard output, and locks against other runs."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import select
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import IO, Any, BinaryIO, TextIO, cast

import pyarrow as pa
from promptpress.engine.configs import is_remote, missing
from promptpress.engine.errors import OutputError, ReaderGoneError, reason

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
    an error if another run is still writing one. `is_alone` says that there is no other run.
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
    return OutputError(f"{path}: another run is writing it; wait for that, or stop it")


def bounded(name: str) -> str:
    """Shorten a file's name so that longer names can be made of it; a file system takes 255 bytes.

    A name that is too long keeps its beginning, and gets digits of its hash.
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
    """Yield standard output, which is flushed at the end; after an error, the interpreter's exit doesn't fail again."""
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
    """Turn an error of the system into an `OutputError` about a file."""
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
