"""Paths of files: addresses, suffixes of compression, and the reason why a path can't be opened."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from promptpress._errors.file_errors import reason
from promptpress._errors.suggestions import close_names

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_MAX_ENTRIES = 10_000

STDIN = "-"
"""Standard input, in the place of a file."""

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""The compressions of files, by the last suffix of the name."""


def missing(path: str, error: OSError) -> str:
    """Return the reason why a file can't be opened; if it is missing, with a missing folder or a similar name."""
    why = reason(error)
    if not isinstance(error, FileNotFoundError):
        return why
    folder, name = os.path.split(path)
    if {"*", "?"} & set(name):
        return f"{why} (no file matches the pattern)"
    if folder and not os.path.isdir(folder):
        return f"{why} (there is no folder {_first_missing(folder)!r})"
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
        names = [other for other in names if other != name]  # a link to nothing has the name itself
    except OSError:
        return why
    close = close_names(name, names, 1, 0.75)
    return f"{why}; did you mean {os.path.join(folder, close[0])}?" if close else why


def _first_missing(folder: str) -> str:
    """Return the outermost folder of a path that doesn't exist."""
    while (parent := os.path.dirname(folder)) and parent != folder and not os.path.isdir(parent):
        folder = parent
    return folder


def is_remote(path: str) -> bool:
    """Return true for an address, which begins with a scheme."""
    return _REMOTE.match(path) is not None


def split_codec(path: str) -> tuple[str, str | None]:
    """Split a suffix of compression off a path or address; return the rest and the codec."""
    if path.lower().startswith(("http://", "https://")):
        path = urlsplit(path).path
    inner, suffix = os.path.splitext(path)
    codec = CODECS.get(suffix.lower())
    return (inner, codec) if codec is not None else (path, None)
