"""Readers for configuration files, and the local files with the rows of a harness's dataset.

A configuration is JSON, YAML, TOML, or a harness's Python file, which is read as data. Most dataset classes make other
rows from what they read, which only their code can do. For a few classes the file, the split and the range are certain.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine.configs import dialect_of, is_remote, last_part
from promptpress.engine.errors import UsageError, reason

from promptpress_harness.bounded_file import read_text

_MAX_FILE_BYTES = 1 << 28

_OF_SAMPLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather")
"""Suffixes of files that hold samples, and no configuration."""


@dataclass(frozen=True)
class Config:
    """The content of a configuration file."""

    path: str
    value: Any
    python: bool


def content_of(file: Any) -> Config:
    """Return the content of a loaded file (a result of `load_config`), for the private modules."""
    config: Config = attrgetter("_config")(file)
    return config


def read_config(path: str) -> Config:
    """Read a configuration file in the format of its suffix: `.json`, `.yaml`, `.yml`, `.toml` or `.py`.

    The value of a Python file is a dict of the names that the file defines.
    """
    if is_remote(path):
        raise ConfigError(f"{path}: a configuration is a local file; samples may be at an address", is_choice=True)
    suffix = Path(path).suffix.lower()
    if suffix == ".py":
        # Other formats don't need the import of Python's parser.
        from promptpress_harness.python_subset.statements import read_python  # noqa: PLC0415

        return Config(path, read_python(path), python=True)
    if suffix not in _READERS:
        message = f"{path}: a configuration is a {', '.join(_READERS)} or .py file"
        hint = "samples come with --data" if suffix in _OF_SAMPLES else ""
        raise ConfigError(message, for_command=hint, is_choice=True)
    text = read_text(path, _MAX_FILE_BYTES)
    try:
        return Config(path, _READERS[suffix](path, text), python=False)
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except ConfigError:
        raise
    except ValueError as error:  # an integer with too many digits, an invalid date
        raise ConfigError(f"{path}: {reason(error)}") from None


def _json(path: str, text: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in items:
            if key in result:
                raise ConfigError(f"{path}: the key {key!r} stands twice in one object")
            result[key] = value
        return result

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not valid JSON: {error.msg} (column {error.colno})") from None


def _yaml(path: str, text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra, needed for this format only
    except ImportError:
        raise ConfigError(f"{path}: YAML needs PyYAML: pip install 'promptpress[cli]'") from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """The safe loader, but it refuses duplicate keys, of which it would silently use the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: list[Any] = []
            for key_node, value_node in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    continue
                key = self.construct_object(key_node, deep=True)
                if node.flow_style and len(node.value) == 1 and _is_empty(value_node) and isinstance(key, str):
                    line = node.start_mark.line + 1
                    raise ConfigError(f"{path}:{line}: {{{key}}} is a mapping in YAML; quote the text: '{{{key}}}'")
                if key in seen:
                    line = key_node.start_mark.line + 1
                    raise ConfigError(f"{path}:{line}: the key {key!r} stands twice in one mapping")
                seen.append(key)
            result: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return result

    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        hint = _quoting(text, line)
        raise ConfigError(f"{path}:{line}: not valid YAML: {error.problem or error.context}{hint}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: not valid YAML: {reason(error)}") from None


def _is_empty(node: Any) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null" and node.value == "")


def _quoting(text: str, line: int) -> str:
    """Return the end of an error message for a line whose text needs quotes or has a tab in its indent."""
    lines = text.splitlines()
    excerpt = lines[line - 1].strip() if line <= len(lines) else ""
    value = excerpt.partition(": ")[2].strip() or excerpt.removeprefix("- ")
    if "\t" in (lines[line - 1] if line <= len(lines) else ""):
        return "; YAML indents by spaces, not by tabs"
    if value[:1] in {"{", "[", "<", "%", "@", "`", "*", "&", "!"} or ": " in value:
        return "; a text that begins with a brace or the like, or has ': ' in it, is quoted in YAML: \"...\""
    return ""


def _toml(path: str, text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - each reader imports what it needs
    else:
        try:
            import tomli as tomllib  # noqa: PLC0415 - an extra, needed for this format only
        except ImportError:
            raise ConfigError(f"{path}: TOML needs tomli: pip install 'promptpress[cli]'") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = "; a text is quoted in TOML" if "Invalid value" in str(error) else ""
        raise ConfigError(f"{path}: not valid TOML: {reason(error)}{hint}") from None


_READERS: dict[str, Callable[[str, str], Any]] = {".json": _json, ".yaml": _yaml, ".yml": _yaml, ".toml": _toml}


_ALWAYS = {"type", "abbr", "path", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "summarizer_cfg"}
_KEYS_OF_DATASETS = {
    "CustomDataset": {*_ALWAYS, "file_name", "local_mode"},
    "JsonlDataset": _ALWAYS,
    "HFDataset": {*_ALWAYS, "data_files", "split"},
}
_SLICE = re.compile(r"\[(-?\d*):(-?\d*)(?::(-?\d+))?\]")
ADDED_COLUMNS = frozenset({"idx", "subdivision"})
"""Columns that the harness adds to the rows of every file."""


class UnknownFilesError(UsageError):
    """Raised with a reason if the file of a dataset, or its rows in the harness, aren't known."""


@dataclass(frozen=True)
class DatasetFiles:
    """The file with the rows of a dataset."""

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
    if kind not in _KEYS_OF_DATASETS or dialect_of(dataset) == "aisbench":
        raise UnknownFilesError(f"the rows of {kind} are made by its own code")
    for key in dataset:
        if key not in _KEYS_OF_DATASETS[kind]:
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
