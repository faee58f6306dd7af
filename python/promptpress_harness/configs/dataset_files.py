"""The local files with the rows of a harness's dataset, for the dataset classes that use a file's rows unchanged.

Most dataset classes make other rows from what they read, which only their code can do. For a few classes the file, the
split and the range are certain.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from promptpress.engine.configs import dialect_of, last_part

_ALWAYS = {"type", "abbr", "path", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "summarizer_cfg"}
_KEYS = {
    "CustomDataset": {*_ALWAYS, "file_name", "local_mode"},
    "JsonlDataset": _ALWAYS,
    "HFDataset": {*_ALWAYS, "data_files", "split"},
}
_SLICE = re.compile(r"\[(-?\d*):(-?\d*)(?::(-?\d+))?\]")
ADDED_COLUMNS = frozenset({"idx", "subdivision"})
"""Columns that the harness adds to the rows of every file."""


class UnknownFilesError(Exception):
    """Raised with a reason if the file of a dataset, or its rows in the harness, aren't known."""


@dataclass(frozen=True)
class DatasetFiles:
    """The file with the rows of a dataset.

    Args:
        path: The file.
        format: The file's format.
        train_range: The reader's range of the rows that are examples.
        test_range: The reader's range of the rows that are samples.
        test_is_train: True if the samples are rows of the train split.
        is_hugging_face: True if the harness reads the file by Hugging Face's `load_dataset`.

    """

    path: str
    format: str
    train_range: Any = None
    test_range: Any = None
    test_is_train: bool = False
    is_hugging_face: bool = False

    def check(self, names: Sequence[str], *, has_times: bool) -> None:
        """Raise an UnknownFilesError if the harness reads other values, as where texts of JSON look like times."""
        if self.is_hugging_face and has_times:
            message = f"{self.path}: some texts look like times, which the harness's loader takes them for"
            raise UnknownFilesError(message)
        if self.format != "jsonl" or self.is_hugging_face:
            return
        with open(self.path, "rb") as file:
            first = json.loads(file.readline().decode("utf-8-sig") or "{}")
        for name in names:
            if name not in first:
                message = f"{self.path}: the first row lacks {name!r}, and so the harness does in all rows"
                raise UnknownFilesError(message)

    def train(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are examples, or raise an UnknownFilesError for an unknown range."""
        return _in_range(rows, self.train_range, "train_range")

    def test(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are samples, or raise an UnknownFilesError for an unknown range."""
        return _in_range(self.train(rows) if self.test_is_train else rows, self.test_range, "test_range")


def files_of(dataset: Mapping[str, Any]) -> DatasetFiles:
    """Return the file of a dataset, which exists; raise an UnknownFilesError if the harness may make other rows."""
    kind = last_part(dataset.get("type"))
    if not kind:
        raise UnknownFilesError("the configuration names no dataset class, and so no file")
    if kind not in _KEYS or dialect_of(dataset) == "aisbench":
        raise UnknownFilesError(f"the rows of {kind} are made by its own code")
    for key in dataset:
        if key not in _KEYS[kind]:
            raise UnknownFilesError(f"what {key!r} does to the rows of {kind} isn't known")
    if dataset.get("n") not in (None, 1):
        raise UnknownFilesError(f"n is {dataset['n']}: the harness repeats the rows")
    path, data_format = _hugging_face_file(dataset) if kind == "HFDataset" else _plain_file(dataset, kind)
    reader = dataset.get("reader_cfg")
    reader = reader if isinstance(reader, Mapping) else {}
    splits = reader.get("train_split", "train"), reader.get("test_split", "test")
    valid = {"train"} if kind == "HFDataset" and "split" not in dataset else {"train", "test"}
    for split in splits:
        if split not in valid:
            raise UnknownFilesError(f"the rows of {kind} have no split {split!r}")
    if splits[0] != "train":
        raise UnknownFilesError(f"examples are of the split {splits[0]!r}")
    ranges = reader.get("train_range"), reader.get("test_range")
    test_is_train = splits[1] == "train"
    return DatasetFiles(path, data_format, *ranges, test_is_train, is_hugging_face=kind == "HFDataset")


def _plain_file(dataset: Mapping[str, Any], kind: str) -> tuple[str, str]:
    if os.environ.get("DATASET_SOURCE"):
        raise UnknownFilesError("DATASET_SOURCE is set: the harness takes the rows from a hub")
    path, name = dataset.get("path"), dataset.get("file_name")
    if not isinstance(path, str):
        raise UnknownFilesError("no path is given")
    path = _existing(os.path.join(path, name) if isinstance(name, str) else path)
    if kind == "JsonlDataset":
        return path, "jsonl"
    data_format = os.path.splitext(path)[1].lower().removeprefix(".")
    if data_format not in ("jsonl", "csv"):
        raise UnknownFilesError(f"{path}: {kind} reads .jsonl and .csv files")
    return path, data_format


def _hugging_face_file(dataset: Mapping[str, Any]) -> tuple[str, str]:
    builder, files, split = dataset.get("path"), dataset.get("data_files"), dataset.get("split", "train")
    if not isinstance(files, str):
        raise UnknownFilesError(f"the rows of {builder!r} come from a hub, or from several files")
    if builder not in ("json", "parquet"):
        raise UnknownFilesError(f"how {builder!r} reads a file isn't known: it guesses types")
    if split != "train":
        raise UnknownFilesError(f"the split {split!r} isn't all of the file")
    path = _existing(files)
    if builder == "parquet":
        return path, "parquet"
    with open(path, "rb") as file:
        return path, "json" if file.read(4096).lstrip().startswith(b"[") else "jsonl"


def _existing(path: str) -> str:
    """Return the path as the harness finds it: in COMPASS_DATA_CACHE, or in the working folder."""
    if not os.path.isabs(path):
        path = os.path.join(os.environ.get("COMPASS_DATA_CACHE", ""), path)
    if not os.path.isfile(path):
        what = "a folder, not a file" if os.path.isdir(path) else "no such file"
        raise UnknownFilesError(f"{path}: {what}")
    return path


def _in_range(rows: pa.Table, chosen: Any, name: str) -> pa.Table:
    """Return the rows of a range, as the harness's reader chooses them."""
    total = rows.num_rows
    if chosen is None or chosen == "":
        return rows
    if isinstance(chosen, str):
        match = _SLICE.fullmatch(chosen.replace(" ", ""))
        if match is None:
            raise UnknownFilesError(f"{name}: {chosen!r} is no slice such as '[0:100]'")
        start, stop, step = (int(part) if part else None for part in match.groups())
        if step == 0:
            raise UnknownFilesError(f"{name}: {chosen!r} has a step of 0")
        return rows.take(pa.array(range(total)[start:stop:step], pa.int64()))
    if not isinstance(chosen, (int, float)) or isinstance(chosen, bool):
        raise UnknownFilesError(f"{name}: found a {type(chosen).__name__}")
    if chosen >= total or chosen <= 0:
        return rows
    size = int(chosen * total) if chosen < 1 else chosen
    numbers = list(range(total))
    random.Random(x=size).shuffle(numbers)
    return rows.take(pa.array(numbers[: int(size)], pa.int64()))
