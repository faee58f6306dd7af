"""What is said of a path that leads nowhere: which part of it is missing, and what has nearly its name."""

from __future__ import annotations

import difflib
import os
import re

from promptpress._file_errors import reason

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_MAX_ENTRIES = 10_000
# How files of other kinds become ones that can be read.
_CONVERSIONS = {
    ".zip": "unpack it first",
    ".7z": "unpack it first",
    ".tar": "unpack it first, and name the folder",
    ".lz4": "unpack it first; .gz, .zst, .bz2 and .xz are read as they are",
    ".xlsx": "save it as CSV, or as Parquet by pandas",
    ".xls": "save it as CSV, or as Parquet by pandas",
    ".db": "export a table as Parquet or CSV",
    ".sqlite": "export a table as Parquet or CSV",
    ".pkl": "save it as Parquet by pandas",
    ".orc": "pyarrow.orc.read_table and pyarrow.parquet.write_table make a Parquet file of it",
    ".avro": "save it as Parquet",
    ".txt": "jsonl is the format of one JSON object a line, csv that of commas and a header",
}


def missing(path: str, error: OSError) -> str:
    """Say why a file can't be opened.

    Args:
        path: the file, as the user wrote it.
        error: what the system said.

    Returns:
        The system's words; for what isn't there which folder is missing, or which file has nearly the name.

    Example:
        >>> missing("no such folder/a.json", FileNotFoundError(2, "No such file or directory"))
        "No such file or directory (there is no folder 'no such folder')"

    """
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
    close = difflib.get_close_matches(name, names, 1, 0.75)
    return f"{why}; did you mean {os.path.join(folder, close[0])}?" if close else why


def _first_missing(folder: str) -> str:
    """Give the outermost folder of a path that isn't there."""
    while (parent := os.path.dirname(folder)) and parent != folder and not os.path.isdir(parent):
        folder = parent
    return folder


def is_remote(path: str) -> bool:
    """Say whether a path is an address of another machine.

    Args:
        path: the path.

    Returns:
        Whether it begins with a scheme.

    Example:
        >>> is_remote("hf://datasets/a/b.parquet"), is_remote("C:/a.parquet"), is_remote("a.parquet")
        (True, False, False)

    """
    return _REMOTE.match(path) is not None


def conversion(path: str) -> str:
    """Say what makes a file readable whose suffix isn't.

    Args:
        path: the file.

    Returns:
        The end of a message; empty where nothing is known.

    Example:
        >>> conversion("a.zip")
        '; unpack it first'

    """
    found = _CONVERSIONS.get(os.path.splitext(path)[1].lower())
    return f"; {found}" if found else ""
