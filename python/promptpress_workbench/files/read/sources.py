"""The bytes of a file of samples, compressed or not: from the disk, standard input or an address; and their changes."""

from __future__ import annotations

import codecs
import hashlib
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, cast

import pyarrow as pa
from promptpress import DataError
from promptpress.engine.configs import STDIN, is_remote, split_codec
from promptpress.engine.errors import UsageError, counted, reason


def filesystem(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - for addresses only
    except ImportError:
        raise DataError(f"{url}: addresses need fsspec: pip install 'promptpress[remote]'") from None
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise DataError(f"{url}: {reason(error)}") from error
    return system, str(path)


def open_remote(url: str) -> IO[bytes] | None:
    """Open a file for random access; return None if it can only be read from its start, or its size isn't known."""
    system, path = filesystem(url)
    file: IO[bytes] = system.open(path, "rb")
    try:
        file.seek(0, os.SEEK_END)
        file.seek(0)
    except (ValueError, OSError, NotImplementedError, TypeError):
        file.close()
        return None
    return file


def copy_remote(url: str) -> IO[bytes]:
    """Copy a file to a temporary one, which is deleted when it is closed."""
    system, path = filesystem(url)
    copy = tempfile.NamedTemporaryFile(prefix="promptpress-")  # noqa: SIM115 - the caller closes it
    try:
        system.get_file(path, copy.name)
        arrived, size = os.path.getsize(copy.name), _size(system, path)
        if size is not None and arrived < size:
            raise DataError(f"{url}: only {arrived:,} of {counted(size, 'byte')} arrived; try again, or download it")
    except BaseException:
        copy.close()
        raise
    return copy


def _size(system: Any, path: str) -> int | None:
    """Return the size if the server sends one; a file that is compressed for the transfer has another."""
    try:
        info = system.info(path)
    except (OSError, ValueError):
        return None
    size = info.get("size")
    return size if isinstance(size, int) else None


def matching(url: str) -> list[str]:
    """List the addresses of the files that match an address with `*` in it."""
    system, path = filesystem(url)
    return [str(system.unstrip_protocol(match)) for match in system.glob(path)]


def why(error: Exception) -> str:
    """Return the reason why an address can't be read, with the status of the server's answer."""
    if isinstance(error, FileNotFoundError):
        if not isinstance(error.__cause__, Exception):
            return "not found there"
        error = error.__cause__  # fsspec raises the same error if there is no such server
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and not isinstance(error, OSError):
        return f"the server answers {status} {message or ''}".rstrip()
    return f"can't be read from there ({type(error).__name__}: {reason(error)}); download it, and give the local file"


_COPY_BYTES = 1 << 20


class Source:
    """One file that can be read from the start several times.

    A pipe or a file at an address is copied to a temporary file first, because types are known only when all rows have
    been read, and memory may not hold them. Columnar files at an address are read there if the server sends any part.
    """

    def __init__(self, path: str, stack: ExitStack, encoding: str | None = None) -> None:
        self.path = path
        self._encoding = encoding
        self._codec = split_codec(path)[1]
        self.stack = stack
        self._copy: IO[bytes] | None = None

    def open(self) -> BinaryIO:
        """Open the decompressed bytes for a text format, in UTF-8; only one reader may be open at a time."""
        if self._is_read_once() or is_remote(self.path):
            copy = self._rewound_copy()
            raw = cast("BinaryIO", open(copy.fileno(), "rb", closefd=False))  # noqa: SIM115 - the caller closes it
        else:
            raw = open(self.path, "rb")  # noqa: SIM115 - the caller closes it
        file = raw if self._codec is None else _decompressed(raw, self._codec, self.path)
        if self._encoding is None:
            return file
        return cast("BinaryIO", io.BufferedReader(_Recoded(file, self._encoding, self.path), _COPY_BYTES))

    def open_anywhere(self) -> Any:
        """Open the decompressed bytes for random access, for a columnar format: a path, or a file of pyarrow's."""
        if self._codec is not None:
            copy = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
            with self.open() as file:
                shutil.copyfileobj(file, copy, _COPY_BYTES)
            copy.seek(0)
            return self.stack.enter_context(pa.PythonFile(copy, mode="r"))
        if self._is_read_once():
            return self.stack.enter_context(pa.PythonFile(self._rewound_copy(), mode="r"))
        if not is_remote(self.path):
            if self.path.isascii():
                return self.path
            # pyarrow takes the bytes of a name, which needn't be UTF-8.
            return self.stack.enter_context(pa.OSFile(os.fsencode(self.path), "rb"))
        remote = self.stack.enter_context(open_remote(self.path) or self._new_copy())
        remote.seek(0)
        return self.stack.enter_context(pa.PythonFile(remote, mode="r"))

    def _is_read_once(self) -> bool:
        """Return true for a pipe: standard input, a named pipe, or a shell's `<(...)`."""
        if self.path == STDIN:
            return True
        try:
            return not is_remote(self.path) and stat.S_ISFIFO(os.stat(self.path).st_mode)
        except (OSError, ValueError):
            return False  # opening the file raises the error

    def _rewound_copy(self) -> IO[bytes]:
        if self._copy is None:
            self._copy = self._new_copy()
        self._copy.seek(0)
        return self._copy

    def _new_copy(self) -> IO[bytes]:
        if is_remote(self.path):
            return self.stack.enter_context(copy_remote(self.path))
        copy = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        if self.path != STDIN:
            with open(self.path, "rb") as pipe:
                shutil.copyfileobj(pipe, copy, _COPY_BYTES)
            return copy
        if sys.stdin is None or sys.stdin.closed:
            raise DataError("standard input is closed; samples are piped into it, as by `cat FILE |`")
        if sys.stdin.isatty():
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


class _Recoded(io.RawIOBase):
    """The bytes of a text file of another encoding, in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, path: str) -> None:
        self._file = file
        self._name = encoding
        self._path = path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line = 1
        self._waiting = b""
        self._is_read = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._waiting and not self._is_read:
            data = self._file.read(_COPY_BYTES)
            self._is_read = not data
            self._waiting = self._recoded(data)
            self._line += self._waiting.count(b"\n")
        count = min(len(buffer), len(self._waiting))
        buffer[:count], self._waiting = self._waiting[:count], self._waiting[count:]
        return count

    def _recoded(self, data: bytes) -> bytes:
        state = self._decoder.getstate()
        try:
            return self._decoder.decode(data, self._is_read).encode()
        except UnicodeError as error:
            line = self._line
            start = error.start if isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)) else 0
            if isinstance(error, UnicodeDecodeError):
                self._decoder.setstate(state)
                # What comes before the fault may end within a character only for the fault itself.
                line += self._decoder.decode(error.object[len(state[0]) : start]).count("\n")
                reason = f"byte 0x{error.object[start]:02x}"
            else:
                reason = "half of a surrogate pair" if isinstance(error, UnicodeEncodeError) else str(error)
            raise DataError(f"{self._path}:{line}: not {self._name} ({reason}); --encoding names another") from None

    def close(self) -> None:
        super().close()
        self._file.close()


class _Closing(io.BufferedReader):
    """A buffered reader that closes the compressed file, too."""

    def __init__(self, stream: Any, compressed: BinaryIO) -> None:
        super().__init__(stream, _COPY_BYTES)
        self._compressed = compressed

    def close(self) -> None:
        super().close()
        self._compressed.close()


def not_utf8(location: str, error: UnicodeDecodeError, *, is_begin: bool) -> DataError:
    """Make the error of bytes that aren't UTF-8; `is_begin` says that they are those with which the file begins."""
    data: bytes = error.object
    is_utf16 = is_begin and (data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4])
    hint = "; it looks like UTF-16: save it as UTF-8" if is_utf16 else "; save it as UTF-8"
    names = "utf-16 reads it" if is_utf16 else "NAME reads it as another: gbk and cp1252 are what Excel writes"
    message = f"{location}: not UTF-8 (byte 0x{data[error.start]:02x}){hint}"
    return DataError(message, for_command=f"--encoding {names}")


_ENDS = 1 << 20
"""The number of bytes at the beginning and at the end of a file that are hashed."""

_REMOTE_KEYS = ("size", "ETag", "etag", "LastModified", "last_modified", "mtime", "sha256", "oid", "blob_id")
"""The keys of remote file systems whose values change when a file does."""


@dataclass(frozen=True)
class FileState:
    """A file's size in bytes, the time of the last write in nanoseconds, and the file's number in the file system."""

    size: int
    time: int
    number: int


def state_of(path: str) -> FileState | None:
    """Return the state of a regular local file; None for anything else."""
    if path == STDIN or is_remote(path):
        return None
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return FileState(info.st_size, info.st_mtime_ns, info.st_ino) if stat.S_ISREG(info.st_mode) else None


def changed(path: str, before: FileState | None) -> str | None:
    """Return the end of a sentence that says how a file has changed; None if it hasn't, or had no state."""
    if before is None:
        return None
    now = state_of(path)
    if now is None:
        return "it is gone since"
    if now.size != before.size:
        what = "shrunk" if now.size < before.size else "grown"
        return f"it has {what} from {before.size:,} to {counted(now.size, 'byte')}"
    if now.number != before.number:
        return "another file has its name since"
    return "it was written to" if now.time != before.time else None


def identity(path: str) -> dict[str, Any]:
    """Return JSON values that identify a file's content, for a local one with a hash of both ends; refuse pipes."""
    if is_remote(path):
        system, inner = filesystem(path)
        info = system.info(inner)
        return {"path": path, **{key: str(info[key]) for key in _REMOTE_KEYS if info.get(key) is not None}}
    state = None if path == STDIN else state_of(path)
    if state is None:
        name = "standard input" if path == STDIN else path
        raise UsageError(f"--resume: {name} can be read only once; write it to a file, and name that by --data")
    ends = hashlib.sha256()
    with open(path, "rb") as file:
        ends.update(file.read(_ENDS))
        if state.size > _ENDS:
            file.seek(max(_ENDS, state.size - _ENDS))
            ends.update(file.read(_ENDS))
    return {"path": path, "size": state.size, "time": state.time, "ends": ends.hexdigest()[:32]}
