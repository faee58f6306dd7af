"""The table of input formats, the files that a path means, and the rows of them that are read.

A new format is a class with the attributes of `SampleFile`, an entry of `FORMATS`, from which the command takes the
choices of `--data-format`, and a branch of `Samples`. Every command reads the table, so it imports little.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from promptpress import DataError
from promptpress.engine.configs import STDIN, is_remote, split_codec
from promptpress.engine.errors import Choice, close_names, reason

HarnessTypes: TypeAlias = Literal["json", "all"]
"""The files whose columns get the types of a harness's reader: those of JSON, or all.

OpenCompass reads CSV by Python's `csv`, so every value is a text; lm-evaluation-harness reads it by pandas.
"""


class DataFormat(NamedTuple):
    """The format of files, as far as the user gives it.

    None is the format of the suffix, the format's delimiter, UTF-8, and a JSON file that is the array of rows itself,
    which an object has under the key `records` otherwise.
    """

    name: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    records: str | None = None

    @classmethod
    def of(cls, given: DataFormat | str | None) -> DataFormat:
        """Return a format that may be given by its name alone."""
        return given if isinstance(given, DataFormat) else cls(given)


@dataclass(frozen=True)
class RowChoice:
    """A choice of rows: by `where`, a condition of SQL, and of these as many at random as `sample` says."""

    where: str | None = None
    sample: int | None = None
    seed: int = 0

    @property
    def skips(self) -> bool:
        """True if rows may be left out between the chosen ones."""
        return self.where is not None or self.sample is not None


ALL_ROWS = RowChoice()


FORMATS = {
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "csv": (".csv",),
    "tsv": (".tsv",),
}
"""The formats of samples by name, with the suffixes of their files, in the order in which help and errors list them."""

SUFFIXES = {suffix: name for name, suffixes in FORMATS.items() for suffix in suffixes}
"""The names of the formats by the suffix of a file."""

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
"""The ways to make files of other kinds readable, by their suffixes."""


def input_format(path: str, data_format: str | None = None, otherwise: str | None = None) -> str:
    inner = split_codec(path)[0]
    suffix = os.path.splitext(inner)[1].lower()
    if (name := data_format or SUFFIXES.get(suffix) or otherwise) is not None:
        return name
    if path == STDIN:
        raise DataError("standard input has no suffix", Choice("data_format", "says its format"))
    what = f"the suffix {suffix!r} is none of" if suffix else "its name has none of the suffixes"
    conversion = f"; {_CONVERSIONS[suffix]}" if suffix in _CONVERSIONS else ""
    raise DataError(f"{path}: {what} {', '.join(SUFFIXES)}{conversion}", Choice("data_format", "says the format"))


_DIGITS = re.compile(r"(\d+)")
_SPLITS = "dataset_dict.json"
_STATE = "state.json"


def find_files(path: str, data_format: str | None = None) -> list[tuple[str, str | None]]:
    """List the files that a path, a pattern, a folder or a saved dataset means, in natural order.

    Each has its format if that isn't the suffix's. A path that looks like a pattern is a file if a file has this name.
    """
    if path == STDIN or os.path.isfile(path):
        return [(path, None)]
    if is_remote(path):
        from promptpress_workbench.files.read.sources import matching  # noqa: PLC0415 - see the head

        return _matched(path, matching(path)) if "*" in path else [(path, None)]
    if os.path.isdir(path):
        return _of_folder(path, data_format)
    folder, colon, split = path.rpartition(":")
    if colon and os.path.isfile(os.path.join(folder, _SPLITS)):
        return _of_split(folder, split)
    if any(character in path for character in "*?[") and not os.path.lexists(path):
        import glob  # noqa: PLC0415 - see the head

        return _matched(path, [match for match in glob.glob(path, recursive=True) if not os.path.isdir(match)])
    return [(path, None)]


def natural(paths: Iterable[str]) -> list[str]:
    """Sort names as people do, by the numbers in them."""
    # 1 and 01 are sorted by the name itself.
    return sorted(paths, key=lambda path: ([int(p) if p.isdecimal() else p for p in _DIGITS.split(path)], path))


def _matched(pattern: str, paths: list[str]) -> list[tuple[str, str | None]]:
    if not paths:
        raise DataError(f"{pattern}: no file matches the pattern")
    return [(path, None) for path in natural(paths)]


def _of_folder(folder: str, data_format: str | None) -> list[tuple[str, str | None]]:
    if os.path.isfile(os.path.join(folder, _SPLITS)):
        splits = _splits_of(folder)
        choices = ", ".join(f"{folder}:{split}" for split in splits) or "it has none"
        raise DataError(f"{folder}: a dataset of several splits; choose one: {choices}", is_choice=True)
    if os.path.isfile(os.path.join(folder, _STATE)):
        return _of_saved(folder)
    names = [entry.name for entry in os.scandir(folder) if entry.is_file() and entry.name[0] not in "._"]
    kinds: dict[str, list[str]] = {}
    for name in natural(names):
        kind = SUFFIXES.get(os.path.splitext(split_codec(name)[0])[1].lower())
        if kind is not None and data_format in (None, kind):
            kinds.setdefault(kind, []).append(os.path.join(folder, name))
    if len(kinds) > 1:
        counts = ", ".join(f"{len(paths)} {kind}" for kind, paths in kinds.items())
        raise DataError(
            f"{folder}: a folder with files of several formats ({counts})", Choice("data_format", "says which")
        )
    if not kinds:
        what = "file of samples" if data_format is None else f"{data_format} file"
        within = natural(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] not in "._")
        hint = f"; it has the folder{'s' if len(within) > 1 else ''} {', '.join(within[:8])}" if within else ""
        raise DataError(f"{folder}: a folder without any {what}{hint}")
    return [(path, None) for paths in kinds.values() for path in paths]


def _splits_of(folder: str) -> list[str]:
    """List the splits of a `datasets.DatasetDict` that was saved to disk."""
    return [str(split) for split in _member(folder, _SPLITS, "splits")]


def _of_split(folder: str, split: str) -> list[tuple[str, str | None]]:
    splits = _splits_of(folder)
    if split not in splits:
        close = close_names(split, splits)
        hint = f"did you mean {folder}:{close[0]}?" if close else f"it has {', '.join(splits) or 'none'}"
        raise DataError(f"{folder}:{split}: the dataset has no split {split!r}; {hint}", is_choice=True)
    return _of_saved(os.path.join(folder, split))


def _of_saved(folder: str) -> list[tuple[str, str | None]]:
    """List the files of a `datasets.Dataset` in the dataset's order; they are Arrow streams."""
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
