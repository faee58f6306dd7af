"""Whether a file is still what it was when it was first looked at."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from typing import Any

from promptpress._file_errors import UsageError
from promptpress._inputs.formats import STDIN
from promptpress._inputs.remote import filesystem
from promptpress._places import is_remote

__all__ = ["FileState", "changed", "identity", "state_of"]

_ENDS = 1 << 20
"""Bytes of a file's beginning, and of its end, that are looked at."""

_REMOTE_KEYS = ("size", "ETag", "etag", "LastModified", "last_modified", "mtime", "sha256", "oid", "blob_id")
"""What file systems of addresses say of a file that changes with it."""


@dataclass(frozen=True)
class FileState:
    """What the system says of a file.

    Args:
        size: its bytes.
        time: when it was last written, in nanoseconds.
        number: of the file; another has the name where one was moved there.

    """

    size: int
    time: int
    number: int


def state_of(path: str) -> FileState | None:
    """Look at a file.

    Args:
        path: the file.

    Returns:
        Its state; None of what is no regular local file, or isn't there.

    Example:
        >>> state_of("no such file") is None
        True

    """
    if path == STDIN or is_remote(path):
        return None
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return FileState(found.st_size, found.st_mtime_ns, found.st_ino)


def changed(path: str, before: FileState | None) -> str | None:
    """Say how a file has changed.

    Args:
        path: the file.
        before: what it was.

    Returns:
        The end of a sentence about it; None where nothing shows.

    Example:
        >>> changed("no such file", FileState(1, 1, 1))
        'it is gone since'

    """
    if before is None:
        return None
    now = state_of(path)
    if now is None:
        return "it is gone since"
    if now.size != before.size:
        what = "shrunk" if now.size < before.size else "grown"
        return f"it has {what} from {before.size:,} to {now.size:,} bytes"
    if now.number != before.number:
        return "another file has its name since"
    return "it was written to" if now.time != before.time else None


def identity(path: str) -> dict[str, Any]:
    """Say by what a file is known again in a later run.

    Args:
        path: the file, or its address.

    Returns:
        Values of JSON. Of a local file its size, the time, and a hash of its beginning and end.

    Raises:
        UsageError: when it can't be read again: standard input, or a pipe.
        OSError: when it can't be read.

    """
    if is_remote(path):
        system, place = filesystem(path)
        info = system.info(place)
        return {"path": path, **{key: str(info[key]) for key in _REMOTE_KEYS if info.get(key) is not None}}
    state = None if path == STDIN else state_of(path)
    if state is None:
        name = "standard input" if path == STDIN else path
        raise UsageError(f"--resume: {name} can be read only once; write it to a file, and name that by --data")
    found = hashlib.sha256()
    with open(path, "rb") as file:
        found.update(file.read(_ENDS))
        if state.size > _ENDS:
            file.seek(max(_ENDS, state.size - _ENDS))
            found.update(file.read(_ENDS))
    return {"path": path, "size": state.size, "time": state.time, "ends": found.hexdigest()[:32]}
