"""A harness's shipped dataset configurations, and small tables that fit them."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from promptpress._errors.file_errors import FileError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.python_subset.values import Opaque, Symbol

ROWS = 7
TEXTS = ("What is {0}?", "", "f{{{0}}} \\frac{{a}}{{b}}", "\u4e2d\u6587 and a longer text, of several words", "x")


def folder(package: str) -> Path | None:
    """Return the folder of a package without importing it."""
    try:
        spec = importlib.util.find_spec(package.partition(".")[0])
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0], *package.split(".")[1:])


def files(package: str, below: str, modes: tuple[str, ...], each: int = 1) -> Iterator[Path]:
    """A few files of each folder of configurations, the same ones every time."""
    root = folder(package)
    for subfolder in sorted(root.joinpath(below).iterdir()) if root is not None else ():
        for mode in modes:
            yield from sorted(subfolder.glob(f"*_{mode}*.py"))[:each]


def datasets(path: Path) -> list[dict[str, Any]]:
    """The datasets of a file, as far as it can be read without running it."""
    try:
        value = read_config(str(path)).value
        lists = [item for name, item in value.items() if name.endswith("_datasets") and isinstance(item, list)]
        return [
            {key: plain(dataset[key]) for key in ("reader_cfg", "infer_cfg")}
            for items in lists
            for dataset in items
            if isinstance(dataset, dict) and "infer_cfg" in dataset and isinstance(dataset["reader_cfg"], dict)
        ]
    except FileError:
        return []


def plain(value: Any) -> Any:
    """A configuration with names of classes in the place of classes."""
    if isinstance(value, Symbol):
        return value.dotted
    if isinstance(value, Opaque):
        raise value.refusal
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def table(config: dict[str, Any], rows: int = ROWS) -> pa.Table:
    """Samples with every column that a configuration names."""
    reader, infer = config["reader_cfg"], config["infer_cfg"]
    named = reader["input_columns"]
    names = list(named.split() if isinstance(named, str) else named)
    names += [column for column in [reader.get("output_column")] if column]
    names += re.findall(r"\{(\w+)\}", repr([infer.get("ice_template"), infer.get("prompt_template")]))
    names = list(dict.fromkeys(names))
    made = {
        name: [TEXTS[(row + index) % len(TEXTS)].format(names[row % len(names)]) for row in range(rows)]
        for index, name in enumerate(names)
    }
    labels = [*labels_of(infer.get("ice_template")), *labels_of(infer.get("prompt_template"))]
    if labels and reader.get("output_column"):
        made[reader["output_column"]] = [labels[row % len(labels)] for row in range(rows)]
    return pa.table(made)


def tagged_table(config: dict[str, Any], rows: int = ROWS) -> pa.Table:
    """Samples of a multimodal configuration, whose `content` shows what the template has entries for."""
    entries = [turn.get("prompt_mm", {}) for turn in config["infer_cfg"]["prompt_template"]["template"]["round"]]
    tags = [name for name in entries[0] if all(name in others for others in entries)]
    content = []
    for row in range(rows):
        names = [tags[(row + index) % len(tags)].upper() for index in range(row % 5)]
        texts = [TEXTS[(row + index) % len(TEXTS)].format("question") for index in range(len(names))]
        tagged = zip(names, texts, strict=True)
        content.append("".join(f"<AIS_{name}_START>{text}<AIS_CONTENT_TAG>" for name, text in tagged))
    samples = table(config, rows)
    if "content" in samples.schema.names:
        samples = samples.drop_columns("content")
    return samples.append_column("content", pa.array(content))


def labels_of(template: Any) -> list[Any]:
    """The keys of a label map."""
    inner = template.get("template") if isinstance(template, dict) else None
    return list(inner) if isinstance(inner, dict) and not inner.keys() <= {"begin", "round", "end"} else []
