"""How a file is written, by its name: the format, and what it is compressed with."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from promptpress._file_errors import Choice, DataError
from promptpress._places import conversion, is_remote

FORMATS = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
}
"""Formats of samples by the suffix of a file."""

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""What a file may be compressed with, by the last suffix of its name."""

STDIN = "-"
"""What standard input is called in the place of a file."""


class Written(NamedTuple):
    """How a file is written."""

    format: str
    codec: str | None


def written(path: str, data_format: str | None = None, otherwise: str | None = None) -> Written:
    """Say how a file of samples is written, by its suffixes.

    Args:
        path: the file, or its address.
        data_format: the format where it is known, which wins; what it is compressed with is still told by the suffix.
        otherwise: the format where the suffix doesn't say it.

    Returns:
        The format and the codec.

    Raises:
        DataError: for any other suffix.

    Example:
        >>> written("a.ndjson"), written("https://host/a.csv.gz?token=1")
        (Written(format='jsonl', codec=None), Written(format='csv', codec='gzip'))

    """
    inner, codec = without_codec(path)
    suffix = os.path.splitext(inner)[1].lower()
    if (known := data_format or FORMATS.get(suffix) or otherwise) is not None:
        return Written(known, codec)
    if path == STDIN:
        raise DataError("standard input has no suffix", Choice("data_format", "says its format"))
    what = f"the suffix {suffix!r} is none of" if suffix else "its name has none of the suffixes"
    all_of_them = ", ".join(FORMATS)
    raise DataError(f"{path}: {what} {all_of_them}{conversion(inner)}", Choice("data_format", "says the format"))


def without_codec(path: str) -> tuple[str, str | None]:
    """Split what a name says of compression off.

    Args:
        path: the file, or its address.

    Returns:
        The name without that suffix, and the codec.

    Example:
        >>> without_codec("part-1.jsonl.zst")
        ('part-1.jsonl', 'zstd')

    """
    if is_remote(path) and path.lower().startswith(("http:", "https:")):
        path = urlsplit(path).path
    inner, suffix = os.path.splitext(path)
    codec = CODECS.get(suffix.lower())
    return (inner, codec) if codec is not None else (path, None)
