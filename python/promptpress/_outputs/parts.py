"""What an interrupted run has finished: numbered parts of the output in a folder beside it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

import pyarrow as pa

from promptpress._file_errors import OutputError, UsageError, reason
from promptpress._outputs.locks import try_lock
from promptpress._outputs.output_file import PartialFile, bounded, place_of, told

__all__ = ["Parts", "forget", "parts_folder", "read_manifest", "refuse_other_run"]

_MANIFEST = "run.json"
_DONE = "done.json"
_NAME = re.compile(r"part-(\d{6,})-rows-(\d+)-(\d+)-([0-9a-f]{32})\.arrows")
_OURS = re.compile(r"\.(?:part|run\.json|done\.json)\.[0-9a-f]+\.partial")
_COPY_BYTES = 1 << 20
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
    """Name the folder of an output's finished parts.

    Args:
        path: the output.

    Returns:
        A folder beside it.

    Example:
        >>> parts_folder("/out/prompts.parquet")
        '/out/.prompts.parquet.parts'

    """
    folder, name = os.path.split(place_of(path))
    return os.path.join(folder, f".{bounded(name)}.parts")


def refuse_other_run(path: str) -> str | None:
    """Refuse an output that a run with parts is writing.

    Args:
        path: the output.

    Returns:
        The folder with finished parts that a run which is no more has left; None where there is none.

    Raises:
        OutputError: when there is such a run.

    """
    folder = parts_folder(path)
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return None
    try:
        if try_lock(handle) is False:
            raise _another(path)
        return folder if any(map(_NAME.fullmatch, os.listdir(folder))) else None
    finally:
        os.close(handle)


class Parts:
    """The finished parts of one output, each of some rows of the input. Nobody else has them as long as this is open.

    A part is a whole file or isn't there: it is synced before it gets its name, which says its rows and what its bytes
    hash to.

    Args:
        path: the output.
        run: what the parts are of; values of JSON. Parts of anything else are refused.

    Raises:
        OutputError: when another run has them, or the folder can't be read or written.
        UsageError: when they are of something else.

    Example:
        >>> import tempfile
        >>> batch = pa.record_batch({"prompt": ["a"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Parts(f"{folder}/out.parquet", {"rows": 1}) as parts:
        ...         parts.write(batch.schema, [batch], 1)
        ...     with Parts(f"{folder}/out.parquet", {"rows": 1}) as parts:
        ...         print(parts.rows, [batch.to_pylist() for batch in parts.batches()])
        ...         parts.remove()
        ...     os.listdir(folder)
        1 [[{'prompt': 'a'}]]
        []

    """

    def __init__(self, path: str, run: Mapping[str, Any]) -> None:
        self._path = path
        self.folder = parts_folder(path)
        self._handle: int | None = None
        self.dropped = 0
        """Rows of parts that didn't hold what they were written with."""
        self._parts: list[_Part] = []
        with told(path):
            self._lock()
        try:
            with told(self.folder):
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
        """Let others have them."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @property
    def rows(self) -> int:
        """How many rows of the input are done."""
        return self._parts[-1].end if self._parts else 0

    @property
    def count(self) -> int:
        """How many parts there are."""
        return len(self._parts)

    def write(self, schema: pa.Schema, batches: Sequence[pa.RecordBatch], rows: int) -> None:
        """Add a part.

        Args:
            schema: of the batches.
            batches: what some rows of the input have become.
            rows: how many rows those were.

        Raises:
            OutputError: when it can't be written.

        """
        partial = PartialFile(os.path.join(self.folder, "part"), is_alone=True)
        try:
            with told(self.folder):
                hashed = _Hashed(partial.open())
                with pa.PythonFile(hashed, mode="w") as sink, pa.ipc.new_stream(sink, schema, options=_OPTIONS) as out:
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

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read them all.

        Yields:
            The batches as they were written.

        Raises:
            OutputError: when one can't be read.

        """
        for part in self._parts:
            path = os.path.join(self.folder, part.name)
            try:
                with pa.OSFile(os.fsencode(path), "rb") as file, pa.ipc.open_stream(file) as reader:
                    yield from reader
            except (pa.ArrowException, OSError) as error:
                raise OutputError(f"{path}: {reason(error)}; run again with --resume, which makes it anew") from error

    def finish(self, done: Mapping[str, Any]) -> None:
        """Delete them: the output is there. What it is of is kept, for an output that is one of many.

        Args:
            done: what to say of it when it is asked for again; values of JSON.

        Raises:
            OutputError: when that can't be written.

        """
        found = os.stat(place_of(self._path))
        self._write(_DONE, {"size": found.st_size, "time": found.st_mtime_ns, "done": dict(done)})
        self._delete(_NAME)
        self._parts = []

    @property
    def finished(self) -> dict[str, Any] | None:
        """What `finish` was told, where the output is what it was then."""
        known = _read(os.path.join(self.folder, _DONE)) or {}
        try:
            found = os.stat(place_of(self._path))
        except OSError:
            return None
        is_same = (known.get("size"), known.get("time")) == (found.st_size, found.st_mtime_ns)
        return known.get("done") if is_same else None

    def remove(self) -> None:
        """Delete them, and all that is known of them: the output is there."""
        with contextlib.suppress(OSError):
            # What the parts are of goes last: without it they would be nobody's.
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
        partial = PartialFile(os.path.join(self.folder, name), is_alone=True)
        try:
            partial.open().write(json.dumps(value, indent=1).encode() + b"\n")
            partial.close()
            partial.rename(os.path.join(self.folder, name))
        finally:
            partial.discard()

    def _lock(self) -> None:
        while True:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.folder)
            if os.name == "nt":
                return  # a folder can't be opened there
            handle = os.open(self.folder, os.O_RDONLY)
            if try_lock(handle) is False:
                os.close(handle)
                raise _another(self._path)
            # Who had it may have deleted it in between.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(self.folder)):
                    self._handle = handle
                    return
            os.close(handle)

    def _check(self, run: Mapping[str, Any]) -> None:
        path = os.path.join(self.folder, _MANIFEST)
        wanted = json.loads(json.dumps(run))
        found = read_manifest(self._path)
        if found is None:
            if any(map(_NAME.fullmatch, os.listdir(self.folder))):
                raise UsageError(f"{path}: can't be read, so nobody knows what the parts beside it are; {self._anew}")
            self._write(_MANIFEST, wanted)
            return
        differences = list(_differences(found, wanted))
        if differences:
            more = f", and {len(differences) - 3} more" if len(differences) > 3 else ""
            raise UsageError(
                f"--resume: the finished parts in {self.folder} are of another run: {'; '.join(differences[:3])}{more};"
                f" {self._anew}"
            )

    @property
    def _anew(self) -> str:
        return f"delete {self.folder} to begin anew"

    def _find(self) -> None:
        """Take the parts that follow each other from the first row on, and hold what their names say."""
        found: list[_Part] = []
        for name in os.listdir(self.folder):
            if match := _NAME.fullmatch(name):
                found.append(_Part(int(match[1]), int(match[2]), int(match[3]), match[4]))
            elif _OURS.fullmatch(name):
                os.unlink(os.path.join(self.folder, name))
        for part in sorted(found):
            is_next = part.number == len(self._parts) and part.first == self.rows
            if is_next and _digest(os.path.join(self.folder, part.name)) == part.digest:
                self._parts.append(part)
        for part in set(found) - set(self._parts):
            self.dropped += part.end - part.first
            os.unlink(os.path.join(self.folder, part.name))


def read_manifest(path: str) -> dict[str, Any] | None:
    """Read what the parts of an output are of.

    Args:
        path: the output.

    Returns:
        What they were made with; None where nothing tells.

    """
    return _read(os.path.join(parts_folder(path), _MANIFEST))


def forget(path: str) -> None:
    """Delete what is known of an output that is there.

    Args:
        path: the output.

    """
    run = read_manifest(path)
    if run is not None:
        with contextlib.suppress(OutputError, UsageError):
            Parts(path, run).remove()


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class _Hashed(io.RawIOBase):
    """Hashes what is written to a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        pass

    def digest(self) -> str:
        return self._hash.hexdigest()[:32]


def _digest(path: str) -> str | None:
    found = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:
            while data := file.read(_COPY_BYTES):
                found.update(data)
    except OSError:
        return None
    return found.hexdigest()[:32]


def _differences(found: Any, wanted: Any, place: str = "") -> Iterator[str]:
    """Say where two manifests differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in dict.fromkeys([*wanted, *found]):
            yield from _differences(found.get(key), wanted.get(key), f"{place}, {key}" if place else key)
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for one, other in zip(found, wanted, strict=True):
            name = other.get("path") if isinstance(other, dict) else None
            yield from _differences(one, other, f"{place} {name}" if name else place)
    elif found != wanted:
        yield f"{place} was {_shown(found)} and is {_shown(wanted)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _another(path: str) -> OutputError:
    return OutputError(f"{path}: another run is writing it; wait for that, or stop it")
