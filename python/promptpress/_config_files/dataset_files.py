"""The local files that a harness's dataset dict takes its rows from, where the dict says so beyond doubt.

Most dataset classes make rows of their own out of what they read, which only their code knows. A few hand on the rows
of a file as they stand there; of those the file, the split and the range are known.
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

from promptpress._from_config import dialect_of
from promptpress._model_classes import last_part

_ALWAYS = {"type", "abbr", "path", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "summarizer_cfg"}
_KEYS = {
    "CustomDataset": {*_ALWAYS, "file_name", "local_mode"},
    "JsonlDataset": _ALWAYS,
    "HFDataset": {*_ALWAYS, "data_files", "split"},
}
_FORMATS = {"CustomDataset": ("jsonl", "csv"), "JsonlDataset": ("jsonl",)}
_SLICE = re.compile(r"\[(-?\d*):(-?\d*)(?::(-?\d+))?\]")
ADDED_COLUMNS = frozenset({"idx", "subdivision"})
"""Columns that the harness adds to the rows of any file."""


class UnknownFilesError(Exception):
    """Why it isn't known where a dataset's rows are, or what they are."""


@dataclass(frozen=True)
class DatasetFiles:
    """Where the rows of a dataset are.

    Args:
        path: the file.
        format: how it is written.
        train_range: which rows the examples are.
        test_range: which rows the samples are.
        test_is_train: whether samples are chosen among the examples.

    """

    path: str
    format: str
    train_range: Any = None
    test_range: Any = None
    test_is_train: bool = False
    is_hugging_face: bool = False

    def check(self, names: Sequence[str], *, has_times: bool) -> None:
        """Refuse rows that the harness reads in another way.

        Args:
            names: the columns.
            has_times: whether texts of JSON look like times.

        Raises:
            UnknownFilesError: when it does.

        """
        if self.is_hugging_face and has_times:
            raise UnknownFilesError(
                f"{self.path}: some texts look like times, which the harness's loader takes them for"
            )
        if self.format != "jsonl" or self.is_hugging_face:
            return
        with open(self.path, "rb") as file:
            first = json.loads(file.readline().decode("utf-8-sig") or "{}")
        for name in names:
            if name not in first:
                raise UnknownFilesError(
                    f"{self.path}: the first row lacks {name!r}, and so the harness does in all rows"
                )

    def train(self, rows: pa.Table) -> pa.Table:
        """Choose the examples.

        Args:
            rows: all rows of the file.

        Returns:
            Those.

        Raises:
            UnknownFilesError: when the range is none that is known.

        """
        return _in_range(rows, self.train_range, "train_range")

    def test(self, rows: pa.Table) -> pa.Table:
        """Choose the samples.

        Args:
            rows: all rows of the file.

        Returns:
            Those.

        Raises:
            UnknownFilesError: when the range is none that is known.

        """
        return _in_range(self.train(rows) if self.test_is_train else rows, self.test_range, "test_range")


def files_of(dataset: Mapping[str, Any]) -> DatasetFiles:
    """Find the file of a dataset.

    Args:
        dataset: the harness's dict.

    Returns:
        The file, which is there.

    Raises:
        UnknownFilesError: when it isn't known, isn't there, or its rows aren't those that the harness has.

    """
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
    path, written = _hugging_face(dataset) if kind == "HFDataset" else _plain(dataset, kind)
    reader = dataset.get("reader_cfg")
    reader = reader if isinstance(reader, Mapping) else {}
    splits = reader.get("train_split", "train"), reader.get("test_split", "test")
    known = {"train"} if kind == "HFDataset" and "split" not in dataset else {"train", "test"}
    for split in splits:
        if split not in known:
            raise UnknownFilesError(f"the rows of {kind} have no split {split!r}")
    if splits[0] != "train":
        raise UnknownFilesError(f"examples are of the split {splits[0]!r}")
    ranges = reader.get("train_range"), reader.get("test_range")
    return DatasetFiles(path, written, *ranges, test_is_train=splits[1] == "train", is_hugging_face=kind == "HFDataset")


def _plain(dataset: Mapping[str, Any], kind: str) -> tuple[str, str]:
    if os.environ.get("DATASET_SOURCE"):
        raise UnknownFilesError("DATASET_SOURCE is set: the harness takes the rows from a hub")
    path, name = dataset.get("path"), dataset.get("file_name")
    if not isinstance(path, str):
        raise UnknownFilesError("no path is given")
    path = _there(os.path.join(path, name) if isinstance(name, str) else path)
    written = os.path.splitext(path)[1].lower().removeprefix(".")
    if kind == "CustomDataset" and written not in _FORMATS[kind]:
        raise UnknownFilesError(f"{path}: {kind} reads .jsonl and .csv files")
    return path, written if kind == "CustomDataset" else "jsonl"


def _hugging_face(dataset: Mapping[str, Any]) -> tuple[str, str]:
    builder, files, split = dataset.get("path"), dataset.get("data_files"), dataset.get("split", "train")
    if not isinstance(files, str):
        raise UnknownFilesError(f"the rows of {builder!r} come from a hub, or from several files")
    if builder not in ("json", "parquet"):
        raise UnknownFilesError(f"how {builder!r} reads a file isn't known: it guesses types")
    if split != "train":
        raise UnknownFilesError(f"the split {split!r} isn't all of the file")
    path = _there(files)
    if builder == "parquet":
        return path, "parquet"
    with open(path, "rb") as file:
        return path, "json" if file.read(4096).lstrip().startswith(b"[") else "jsonl"


def _there(path: str) -> str:
    """Look where the harness does: below COMPASS_DATA_CACHE, or the folder that it runs in."""
    if not os.path.isabs(path):
        path = os.path.join(os.environ.get("COMPASS_DATA_CACHE", ""), path)
    if not os.path.isfile(path):
        what = "a folder, not a file" if os.path.isdir(path) else "no such file"
        raise UnknownFilesError(f"{path}: {what}")
    return path


def _in_range(rows: pa.Table, chosen: Any, name: str) -> pa.Table:
    """Choose rows as the harness's reader does."""
    total = rows.num_rows
    if chosen is None or chosen == "":
        return rows
    if isinstance(chosen, str):
        found = _SLICE.fullmatch(chosen.replace(" ", ""))
        if found is None:
            raise UnknownFilesError(f"{name}: {chosen!r} is no slice such as '[0:100]'")
        start, stop, step = (int(part) if part else None for part in found.groups())
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
