"""Every dataset that the harnesses ship, and the columns that it has.

A reader names the columns that its templates use, in nearly all configurations. Where it names fewer, what else the
data bring is written down here, with where it is said: nothing is taken for a column because a template names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from promptpress._errors.file_errors import FileError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.python_subset import RefusedError
from real.harness.shipped import folder, plain

PACKAGES = {"opencompass": "opencompass", "aisbench": "ais_bench.benchmark"}

MORE = {
    # the folder of the configuration: what its rows have beside the reader's columns
    "MedXpertQA": ("start", "end"),  # opencompass/datasets/MedXpertQA.py sets them
    "ProcessBench": ("problem", "tagged_response"),  # opencompass/datasets/ProcessBench.py sets them
    "custom": ("A", "B", "C", "D"),  # the user's own file; its documentation has these for multiple choice
    "hellaswag": ("ctx",),  # opencompass/datasets/hellaswag.py sets it
    "judge": ("question", "answerA", "answerB"),  # opencompass/datasets/judge/judgebench.py sets them
    "mmlu_pro": ("answer",),  # TIGER-Lab/MMLU-Pro, whose rows are kept
    "winograd": ("prompt", "pronoun"),  # winograd_wsc has pronoun; opencompass/datasets/winograd.py sets prompt
}


def shipped(harness: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every dataset of every shipped configuration that can be read as data, once, with a file that it stands in."""
    root = folder(PACKAGES[harness]) / "configs" / "datasets"
    seen = set()
    for path in sorted(root.rglob("*.py")):
        try:
            value = read_config(str(path)).value
        except FileError:
            continue
        lists = [item for name, item in value.items() if name.endswith("datasets") and isinstance(item, list)]
        for entry in (entry for entries in lists for entry in entries):
            if not isinstance(entry, dict) or not isinstance(entry.get("reader_cfg"), dict):
                continue
            try:
                config = {name: plain(entry[name]) for name in ("reader_cfg", "infer_cfg")}
            except (KeyError, FileError, RefusedError):
                continue
            if not isinstance(config["infer_cfg"], dict) or repr(config) in seen:
                continue
            seen.add(repr(config))
            yield path.relative_to(root).with_suffix("").as_posix(), config


def columns_of(file: str, config: dict[str, Any]) -> list[str]:
    """The columns of a configuration's own data."""
    reader = config["reader_cfg"]
    named = reader.get("input_columns", [])
    names = list(named.split() if isinstance(named, str) else named)
    names += [name for name in [reader.get("output_column")] if name]
    # Several names in one are a slip: no row of data has such a column.
    names = [name for name in names if ", " not in name]
    return list(dict.fromkeys([*names, *MORE.get(file.partition("/")[0], ())]))
