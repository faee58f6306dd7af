"""The finished parts of an interrupted run, in a folder next to the output; `render --resume` uses them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress.engine.errors import OutputError, UsageError, reason

from promptpress_workbench.files.write.output_file import (
    HashedWrites,
    PartialFile,
    bounded,
    other_run_error,
    output_errors,
    output_file,
    resolve_output,
    try_lock,
)

_MANIFEST = "run.json"
_DONE = "done.json"
_NAME = re.compile(r"part-(\d{6,})-rows-(\d+)-(\d+)-([0-9a-f]{32})\.arrows")
_OURS = re.compile(r"\.(?:part|run\.json|done\.json)\.[0-9a-f]+\.partial")
_COPY_BYTES = 1 << 20
_STATE = b"promptpress.state"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class _Part(NamedTuple):
    number: int
    first: int
    end: int
    digest: str

    @property
    def name(self) -> str:
        return f"part-{self.number:06d}-rows-{self.first}-{self.end}-{self.digest}.arrows"


def parts_folder(path: str) -> str:
    folder, name = os.path.split(resolve_output(path))
    return os.path.join(folder, f".{bounded(name)}.parts")


def refuse_other_run(path: str) -> str | None:
    """Refuse an output that a run with parts is writing; return the folder of parts of a run that has ended."""
    folder = parts_folder(path)
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return None
    try:
        if try_lock(handle) is False:
            raise other_run_error(path)
        return folder if any(map(_NAME.fullmatch, os.listdir(folder))) else None
    finally:
        os.close(handle)


class Parts:
    """The finished parts of one output, each of some rows of the input; locked until they are closed.

    A part is complete or doesn't exist: it is synced before it gets its name, which has its rows and a hash. Parts of
    another `run`, JSON values that identify it, are refused.
    """

    def __init__(self, path: str, run: Mapping[str, Any]) -> None:
        self._path = path
        self.folder = parts_folder(path)
        self._handle: int | None = None
        self.dropped = 0
        """The rows of parts that were deleted, because they are damaged or earlier ones are missing."""
        self._parts: list[_Part] = []
        with output_errors(path):
            self._lock()
        try:
            with output_errors(self.folder):
                self._check(run)
                self._find()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @property
    def rows(self) -> int:
        """The number of finished rows of the input."""
        return self._parts[-1].end if self._parts else 0

    @property
    def count(self) -> int:
        return len(self._parts)

    def write(self, schema: pa.Schema, batches: Sequence[pa.RecordBatch], rows: int, state: Mapping[str, Any]) -> None:
        """Write the batches made of the next `rows` rows of the input as a part, and the state of what goes on."""
        partial = PartialFile(os.path.join(self.folder, "part"), is_alone=True)
        with_state = schema.with_metadata({**(schema.metadata or {}), _STATE: json.dumps(state)})
        try:
            with output_errors(self.folder):
                hashed = HashedWrites(partial.open())
                with (
                    pa.PythonFile(hashed, mode="w") as sink,
                    pa.ipc.new_stream(sink, with_state, options=_OPTIONS) as out,
                ):
                    for batch in batches:
                        out.write_batch(batch)
                partial.close()
                part = _Part(len(self._parts), self.rows, self.rows + rows, hashed.digest())
                partial.rename(os.path.join(self.folder, part.name))
        except pa.ArrowException as error:
            raise OutputError(f"{self.folder}: {reason(error)}") from error
        finally:
            partial.discard()
        self._parts.append(part)

    @property
    def state(self) -> dict[str, Any] | None:
        """The state that was written with the last part; None without one."""
        if not self._parts:
            return None
        with _reading(os.path.join(self.folder, self._parts[-1].name)) as reader:
            state: dict[str, Any] = json.loads(reader.schema.metadata[_STATE])
            return state

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the batches of all parts, as they were written."""
        for part in self._parts:
            with _reading(os.path.join(self.folder, part.name)) as reader:
                yield from reader

    def finish(self, done: Mapping[str, Any]) -> None:
        """Delete the parts of an output, but keep `finished`: of many outputs, a resumed run makes only others."""
        self._write(_DONE, {**self._output_state(), "done": dict(done)})
        self._delete(_NAME)
        self._parts = []

    @property
    def finished(self) -> dict[str, Any] | None:
        """The values of `finish`, if the output hasn't changed since."""
        saved = _read(os.path.join(self.folder, _DONE)) or {}
        try:
            is_same = self._output_state().items() <= saved.items()
        except OSError:
            return None
        return saved.get("done") if is_same else None

    def _output_state(self) -> dict[str, int]:
        info = os.stat(resolve_output(self._path))
        return {"size": info.st_size, "time": info.st_mtime_ns}

    def remove(self) -> None:
        """Delete the parts of a complete output, and the folder."""
        with contextlib.suppress(OSError):
            # The manifest is deleted last: without it the parts would belong to no run.
            self._delete(_NAME)
            self._delete(_OURS)
            for name in (_DONE, _MANIFEST):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)
        self._parts = []
        self.close()

    def _delete(self, names: re.Pattern[str]) -> None:
        for name in os.listdir(self.folder):
            if names.fullmatch(name):
                os.unlink(os.path.join(self.folder, name))

    def _write(self, name: str, value: Any) -> None:
        with output_file(os.path.join(self.folder, name), is_alone=True) as file:
            file.write(json.dumps(value, indent=1).encode() + b"\n")

    def _lock(self) -> None:
        while True:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.folder)
            if os.name == "nt":
                return  # a folder can't be opened there
            handle = os.open(self.folder, os.O_RDONLY)
            if try_lock(handle) is False:
                os.close(handle)
                raise other_run_error(self._path)
            # The run that had the lock may have deleted the folder.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(self.folder)):
                    self._handle = handle
                    return
            os.close(handle)

    def _check(self, run: Mapping[str, Any]) -> None:
        path = os.path.join(self.folder, _MANIFEST)
        manifest = json.loads(json.dumps(run))
        saved = read_manifest(self._path)
        if saved is None:
            if any(map(_NAME.fullmatch, os.listdir(self.folder))):
                raise UsageError(
                    f"{path}: can't be read, so nobody knows what the parts beside it are;"
                    f" delete {self.folder} to begin anew"
                )
            self._write(_MANIFEST, manifest)
            return
        differences = list(_differences(saved, manifest))
        if differences:
            more = f", and {len(differences) - 3} more" if len(differences) > 3 else ""
            raise UsageError(
                f"--resume: the finished parts in {self.folder} are of another run: {'; '.join(differences[:3])}{more};"
                f" delete {self.folder} to begin anew"
            )

    def _find(self) -> None:
        """Find the intact parts that follow each other from the first row on; delete all others."""
        parts: list[_Part] = []
        for name in os.listdir(self.folder):
            if match := _NAME.fullmatch(name):
                parts.append(_Part(int(match[1]), int(match[2]), int(match[3]), match[4]))
            elif _OURS.fullmatch(name):
                os.unlink(os.path.join(self.folder, name))
        for part in sorted(parts):
            is_next = part.number == len(self._parts) and part.first == self.rows
            if is_next and _digest(os.path.join(self.folder, part.name)) == part.digest:
                self._parts.append(part)
        for part in set(parts) - set(self._parts):
            self.dropped += part.end - part.first
            os.unlink(os.path.join(self.folder, part.name))


@contextlib.contextmanager
def _reading(path: str) -> Iterator[pa.RecordBatchReader]:
    """Open the stream of a part."""
    try:
        with pa.OSFile(os.fsencode(path), "rb") as file, pa.ipc.open_stream(file) as reader:
            yield reader
    except (pa.ArrowException, OSError) as error:
        raise OutputError(f"{path}: {reason(error)}; run again with --resume, which makes it anew") from error


def read_manifest(path: str) -> dict[str, Any] | None:
    """Return the JSON values that identify the run of an output's parts; None if there are none."""
    return _read(os.path.join(parts_folder(path), _MANIFEST))


def forget(path: str) -> None:
    """Delete the folder of parts of an output that is complete."""
    run = read_manifest(path)
    if run is not None:
        with contextlib.suppress(OutputError, UsageError):
            Parts(path, run).remove()


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _digest(path: str) -> str | None:
    digest = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:
            while data := file.read(_COPY_BYTES):
                digest.update(data)
    except OSError:
        return None
    return digest.hexdigest()[:32]


def _differences(before: Any, after: Any, location: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*after, *before]):
            yield from _differences(before.get(key), after.get(key), f"{location}, {key}" if location else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            name = new.get("path") if isinstance(new, dict) else None
            yield from _differences(old, new, f"{location} {name}" if name else location)
    elif before != after:
        yield f"{location} was {_excerpt(before)} and is {_excerpt(after)}"


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
