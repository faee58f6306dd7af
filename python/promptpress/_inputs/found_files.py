"""From what is said of samples to files: patterns, folders, datasets that were saved to disk."""

from __future__ import annotations

import difflib
import glob
import json
import os
import re
from collections.abc import Iterable
from typing import Any

from promptpress._file_errors import Choice, DataError, reason
from promptpress._inputs.formats import FORMATS, STDIN, without_codec
from promptpress._inputs.remote import matching
from promptpress._places import is_remote

_DIGITS = re.compile(r"(\d+)")
_SPLITS = "dataset_dict.json"
_STATE = "state.json"


def found_files(path: str, data_format: str | None = None) -> list[tuple[str, str | None]]:
    """List the files that a path, a pattern, a folder or a saved dataset means.

    Args:
        path: as the user wrote it. A file that is there is that file, whatever its name looks like.
        data_format: the format where it is known: of a folder's files, those that have it.

    Returns:
        Files in natural order (`part-2` before `part-10`), each with its format where the suffix doesn't say it.

    Raises:
        DataError: when there is none, or it isn't clear which are meant.

    Example:
        >>> found_files("a.parquet")
        [('a.parquet', None)]

    """
    if path == STDIN or os.path.isfile(path):
        return [(path, None)]
    if is_remote(path):
        return _matched(path, matching(path)) if "*" in path else [(path, None)]
    if os.path.isdir(path):
        return _of_folder(path, data_format)
    folder, colon, split = path.rpartition(":")
    if colon and os.path.isfile(os.path.join(folder, _SPLITS)):
        return _of_split(folder, split)
    if any(character in path for character in "*?[") and not os.path.lexists(path):
        return _matched(path, [found for found in glob.glob(path, recursive=True) if not os.path.isdir(found)])
    return [(path, None)]


def natural(paths: Iterable[str]) -> list[str]:
    """Sort names as people do: by numbers where there are some.

    Args:
        paths: the names.

    Returns:
        Them in order.

    Example:
        >>> natural(["part-10", "part-9", "part-1"])
        ['part-1', 'part-9', 'part-10']

    """
    # The name itself decides between 1 and 01.
    return sorted(paths, key=lambda path: ([int(p) if p.isdecimal() else p for p in _DIGITS.split(path)], path))


def _matched(pattern: str, found: list[str]) -> list[tuple[str, str | None]]:
    if not found:
        raise DataError(f"{pattern}: no file matches the pattern")
    return [(path, None) for path in natural(found)]


def _of_folder(folder: str, data_format: str | None) -> list[tuple[str, str | None]]:
    if os.path.isfile(os.path.join(folder, _SPLITS)):
        splits = saved_splits(folder)
        choices = ", ".join(f"{folder}:{split}" for split in splits) or "it has none"
        raise DataError(f"{folder}: a dataset of several splits; choose one: {choices}", is_choice=True)
    if os.path.isfile(os.path.join(folder, _STATE)):
        return _of_saved(folder)
    names = [entry.name for entry in os.scandir(folder) if entry.is_file() and entry.name[0] not in "._"]
    kinds: dict[str, list[str]] = {}
    for name in natural(names):
        kind = FORMATS.get(os.path.splitext(without_codec(name)[0])[1].lower())
        if kind is not None and data_format in (None, kind):
            kinds.setdefault(kind, []).append(os.path.join(folder, name))
    if len(kinds) > 1:
        found = ", ".join(f"{len(paths)} {kind}" for kind, paths in kinds.items())
        raise DataError(
            f"{folder}: a folder with files of several formats ({found})", Choice("data_format", "says which")
        )
    if not kinds:
        what = "file of samples" if data_format is None else f"{data_format} file"
        within = natural(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] not in "._")
        hint = f"; it has the folder{'s' if len(within) > 1 else ''} {', '.join(within[:8])}" if within else ""
        raise DataError(f"{folder}: a folder without any {what}{hint}")
    return [(path, None) for paths in kinds.values() for path in paths]


def saved_splits(folder: str) -> list[str]:
    """List the splits of a `datasets.DatasetDict` that was saved to disk.

    Args:
        folder: where it was.

    Returns:
        Their names.

    Raises:
        DataError: when the folder isn't whole.

    """
    splits = _member(folder, _SPLITS, "splits")
    return [str(split) for split in splits]


def _of_split(folder: str, split: str) -> list[tuple[str, str | None]]:
    splits = saved_splits(folder)
    if split not in splits:
        close = difflib.get_close_matches(split, splits, 1)
        hint = f"did you mean {folder}:{close[0]}?" if close else f"it has {', '.join(splits) or 'none'}"
        raise DataError(f"{folder}:{split}: the dataset has no split {split!r}; {hint}", is_choice=True)
    return _of_saved(os.path.join(folder, split))


def _of_saved(folder: str) -> list[tuple[str, str | None]]:
    """List the files of a `datasets.Dataset`, in its own order. They are Arrow streams."""
    files = _member(folder, _STATE, "_data_files")
    try:
        return [(os.path.join(folder, str(file["filename"])), "arrow") for file in files]
    except (TypeError, KeyError):
        raise DataError(f"{folder}: {_STATE} names no files; was it saved by save_to_disk?") from None


def _member(folder: str, name: str, key: str) -> list[Any]:
    path = os.path.join(folder, name)
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(1 << 26))[key]
    except OSError as error:
        raise DataError(f"{path}: {reason(error)}") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise DataError(f"{path}: damaged: it has no list {key!r}, as save_to_disk writes it")
    return value
