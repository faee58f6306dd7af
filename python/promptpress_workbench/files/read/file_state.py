"""Checks that files haven't changed: `Samples` checks while it reads, `render --resume` between two runs."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from typing import Any

from promptpress.engine.configs import STDIN, is_remote
from promptpress.engine.errors import UsageError, counted

from promptpress_workbench.files.read.remote import filesystem

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
