"""Rows of a dataset's own file, beside those that the real OpenCompass loads."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from promptpress_harness.configs.config_file import ADDED_COLUMNS, files_of
from promptpress_workbench.files.read.samples import Samples

ROWS = [{"q": f"{i}+1?", "a": f"0{i}", "n": i, "f": [i / 2, 1.0], "s": {"x": None, "y": "é"}} for i in range(12)]
CUSTOM = {"type": "opencompass.datasets.CustomDataset"}
DATASETS: dict[str, dict[str, Any]] = {
    "JSONL": {**CUSTOM, "path": "data/rows.jsonl"},
    "JSONL with a byte order mark": {**CUSTOM, "path": "data/mark.jsonl"},
    "CSV in a folder": {**CUSTOM, "path": "data", "file_name": "rows.csv", "local_mode": True},
    "lines": {"type": "opencompass.datasets.JsonlDataset", "path": "data/rows.jsonl"},
    "Hugging Face's lines": {
        "type": "opencompass.datasets.HFDataset",
        **{"path": "json", "data_files": "data/rows.jsonl", "split": "train"},
    },
    "Hugging Face's array": {
        "type": "opencompass.datasets.HFDataset",
        **{"path": "json", "data_files": "data/rows.json", "split": "train"},
    },
}
READERS: dict[str, dict[str, Any]] = {
    "all": {},
    "a slice": {"test_range": "[2:7]", "train_range": "[:3]"},
    "a slice from the end": {"test_range": "[-3:]", "train_range": "[::5]"},
    "a number": {"test_range": 4, "train_range": 2},
    "a share": {"test_range": 0.5},
    "nothing": {"test_range": 0, "train_range": 100},
    "the examples": {"test_split": "train", "train_range": "[3:9]", "test_range": "[1:4]"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    for name in ("COMPASS_DATA_CACHE", "DATASET_SOURCE"):
        monkeypatch.delenv(name, raising=False)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    data = tmp_path / "data"
    data.mkdir()
    (data / "rows.jsonl").write_text(lines)
    (data / "mark.jsonl").write_text("\ufeff" + lines)
    (data / "rows.json").write_text(json.dumps(ROWS, indent=1))
    (data / "rows.csv").write_text('\ufeffq,a\n007,"x,\n""y"""\n,1.0\ntrue,NA\n' + "".join(f"{i},\n" for i in range(9)))


@pytest.fixture(scope="module")
def classes(opencompass: ModuleType) -> Iterator[dict[str, Any]]:
    """Its dataset classes, without the package around them, which imports what a hundred others need."""
    package = ModuleType("opencompass.datasets")
    package.__path__ = [str(Path(opencompass.__path__[0]) / "datasets")]
    before = {name: sys.modules.get(name) for name in ("opencompass.datasets",)}
    sys.modules["opencompass.datasets"] = package
    try:
        loaded = {}
        for name, kind in (("custom", "CustomDataset"), ("jsonl", "JsonlDataset"), ("huggingface", "HFDataset")):
            try:
                loaded[kind] = getattr(importlib.import_module(f"opencompass.datasets.{name}"), kind)
            except ImportError as error:
                pytest.skip(f"OpenCompass's {kind} can't be imported here: {error}")
        yield loaded
    finally:
        for name in [name for name in sys.modules if name.startswith("opencompass.datasets")]:
            del sys.modules[name]
        sys.modules.update({name: module for name, module in before.items() if module is not None})


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", DATASETS)
def test_the_harness_has_the_same_rows(classes: dict[str, Any], name: str, reader: str) -> None:
    config = {"abbr": "x", **DATASETS[name], "infer_cfg": {}}
    config["reader_cfg"] = {"input_columns": ["q"], "output_column": "a", **READERS[reader]}
    kind = classes[config["type"].rpartition(".")[2]]
    theirs = kind(**{key: value for key, value in config.items() if key not in ("type", "infer_cfg")})
    files = files_of(config)
    samples = Samples([files.path], files.format, harness_types="json")
    rows = samples.table()
    samples.close()
    files.check(samples.schema.names, has_times=samples.has_times)
    for ours, dataset in ((files.train(rows), theirs.train), (files.test(rows), theirs.test)):
        expected = [{key: row[key] for key in row if key not in ADDED_COLUMNS} for row in dataset]
        assert ours.to_pylist() == expected
