"""Lines in several files of bounded size: either all files get their names, or none does; exports use it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import pyarrow as pa
from promptpress.engine.configs import CODECS
from promptpress.engine.errors import OutputError, render_error

from promptpress_workbench.files.read.formats import SUFFIXES
from promptpress_workbench.files.write.output_file import (
    STDOUT,
    PartialFile,
    bounded,
    is_stream,
    other_run_error,
    output_errors,
    output_file,
    try_lock,
)


class ShardedLines:
    """Writes lines to one or more files; `sharded_lines` makes it. `only` is the file for all lines of a pipe."""

    def __init__(self, path: str, max_lines: int | None, max_bytes: int | None, only: IO[bytes] | None = None) -> None:
        self.lines = 0
        self.bytes = 0
        self.paths: list[str] = [path] if only else []
        self._path = path
        self._max_lines = None if only else max_lines
        self._max_bytes = None if only else max_bytes
        self._only = only
        self._done: list[PartialFile] = []
        self._current: PartialFile | None = None
        self._file: IO[bytes] | None = None
        self._current_lines = 0
        self._current_bytes = 0

    def write(self, lines: pa.LargeBinaryArray) -> None:
        """Write lines with line breaks, without nulls; begin another file if one is full."""
        count, (_, offsets, data) = len(lines), lines.buffers()
        if not count:
            return
        ends = memoryview(offsets).cast("q")[lines.offset : lines.offset + count + 1]
        text = memoryview(data if data is not None else b"")
        start = 0
        while start < count:
            end = self._fitting(ends, start, count)
            if end == start:
                if not self._current_lines:
                    size, row = ends[start + 1] - ends[start], self.lines
                    message = (
                        f"its request is {size:,} bytes, and a file may have {self._max_bytes:,}; make it shorter, or"
                        " give max_bytes= where the service takes more"
                    )
                    raise render_error("request_too_large", message, row)
                self._finish()
                continue
            self._write(text[ends[start] : ends[end]])
            size = ends[end] - ends[start]
            self.lines += end - start
            self.bytes += size
            self._current_lines += end - start
            self._current_bytes += size
            start = end

    def write_all(self, arrays: Sequence[pa.LargeBinaryArray]) -> None:
        for lines in arrays:
            self.write(lines)

    def _fitting(self, ends: memoryview, start: int, count: int) -> int:
        """Return the end of the lines from `start` on that fit into the current file."""
        end = count
        if self._max_lines is not None:
            end = min(end, start + self._max_lines - self._current_lines)
        if self._max_bytes is not None:
            last = ends[start] + self._max_bytes - self._current_bytes
            end = min(end, bisect_right(ends, last, start) - 1)
        return max(end, start)

    def _write(self, data: memoryview) -> None:
        if self._only is not None:
            self._only.write(data)  # `output_file` makes errors OutputErrors
            return
        file = self._open()
        with output_errors(self._path):
            file.write(data)

    def _open(self) -> IO[bytes]:
        if self._file is None:
            # Nobody may send the single file of an earlier run with the new ones.
            if len(self._done) == 1 and os.path.lexists(self._path):
                raise OutputError(
                    f"{self._path}: it is there of an earlier run, and now there are several files,"
                    f" {shard_name(self._path, 0)} and so on; delete it, or take another name"
                )
            self._current = PartialFile(self._path)
            self._file = self._current.open()
        return self._file

    def _finish(self) -> None:
        """Close the current file; it gets its name with the others."""
        if self._current is not None:
            self._current.close()
            self._done.append(self._current)
        self._current = self._file = None
        self._current_lines = self._current_bytes = 0

    def complete(self) -> None:
        """Give the files their names when all lines have been written."""
        if self._only is not None:
            return
        if self._current is not None or not self._done:
            self._open()  # without lines there is an empty file
            self._finish()
        if len(self._done) == 1:
            self._done[0].rename(self._path)
            self.paths = [self._path]
        else:
            self._name_all()
        self._done = []

    def _name_all(self) -> None:
        """Give several files their names; if that fails for one, none of them keeps its name."""
        _refuse_earlier(self._path)  # files of another run may be new
        names = [shard_name(self._path, number) for number in range(len(self._done))]
        with _Naming(self._path).of({name: file.inode for name, file in zip(names, self._done, strict=True)}):
            try:
                for name, file in zip(names, self._done, strict=True):
                    self.paths.append(name)
                    file.rename(name)
            except BaseException:
                for name in self.paths:
                    with contextlib.suppress(OSError):
                        os.unlink(name)
                self.paths = []
                raise

    def discard(self) -> None:
        """Delete the files that haven't got their names."""
        for file in (*self._done, *([self._current] if self._current is not None else ())):
            file.discard()


class _Naming:
    """A note of the names that the files of an output are being given, so that a later run undoes a killed one."""

    def __init__(self, path: str) -> None:
        folder, name = os.path.split(path)
        self._path = path
        self._file = os.path.join(folder, f".{bounded(name)}.naming")

    @contextlib.contextmanager
    def of(self, names: Mapping[str, int]) -> Iterator[None]:
        """Note the names, each with the inode of its file, until all files have them or none has."""
        with output_errors(self._path):
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
            try_lock(handle)
            os.write(handle, json.dumps({os.path.basename(name): inode for name, inode in names.items()}).encode())
            os.fsync(handle)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._file)
            os.close(handle)

    def undo(self) -> None:
        """Delete the files that a killed run has named; raise `OutputError` if the run is alive."""
        try:
            handle = os.open(self._file, os.O_RDWR)
        except OSError:
            return
        try:
            if try_lock(handle) is False:
                raise other_run_error(self._path)
            noted: Any = {}
            with open(handle, "rb", closefd=False) as file, contextlib.suppress(ValueError):
                noted = json.loads(file.read())  # a killed run may not have written all of it
            for name in _shards_of(self._path) if isinstance(noted, dict) else ():
                with contextlib.suppress(OSError):
                    if os.stat(name).st_ino == noted.get(os.path.basename(name)):
                        os.unlink(name)
            with contextlib.suppress(OSError):
                os.unlink(self._file)
        finally:
            os.close(handle)


@contextlib.contextmanager
def sharded_lines(path: str, max_lines: int | None = None, max_bytes: int | None = None) -> Iterator[ShardedLines]:
    """Open files for lines, `name-00000.jsonl` and so on if there are several, which get their names at the end.

    `-` is standard output, which takes all lines. Files that a killed run has named, when it hadn't named all of them,
    are deleted.
    """
    if path == STDOUT or is_stream(path):
        with output_file(path) as file:
            yield ShardedLines(path, None, None, file)
        return
    _refuse_other_suffix(path)
    _Naming(path).undo()
    _refuse_earlier(path)
    files = ShardedLines(path, max_lines, max_bytes)
    try:
        yield files
        files.complete()
    finally:
        files.discard()


def shard_name(path: str, number: int) -> str:
    stem, suffix = os.path.splitext(path)
    return f"{stem}-{number:05d}{suffix}"


def _refuse_other_suffix(path: str) -> None:
    """Refuse a suffix of another format, by which readers would misread the lines."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in CODECS:
        raise OutputError(f"{path}: what takes these files takes them uncompressed; leave out {suffix}")
    if SUFFIXES.get(suffix, "jsonl") not in ("jsonl", "json"):
        raise OutputError(f"{path}: the file is JSON lines, .jsonl, and not {suffix}")


def _refuse_earlier(path: str) -> None:
    """Refuse files of an earlier run, which somebody might send with the new ones."""
    names = _shards_of(path)
    if names:
        raise OutputError(
            f"{path}: {names[0]} is there of an earlier run"
            f"{f', and {len(names) - 1} more' if len(names) > 1 else ''}; delete them, or take another name"
        )


def _shards_of(path: str) -> list[str]:
    """Return the files that have the names of several files of an output."""
    folder, name = os.path.split(path)
    stem, suffix = os.path.splitext(name)
    pattern = re.compile(re.escape(stem) + r"-\d{5,}" + re.escape(suffix))
    try:
        names = sorted(filter(pattern.fullmatch, os.listdir(folder or ".")))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names]
