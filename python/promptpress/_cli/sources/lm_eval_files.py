"""Recognises files of lm-evaluation-harness: tasks, and the samples that its runs log."""

from __future__ import annotations

import re
from pathlib import Path

from promptpress._errors.file_errors import ConfigError

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
_KEYS = re.compile(
    r"""^["']?(doc_to_(text|target|choice)|output_type|formats|process_docs|fewshot_config)["']?\s*:""", re.MULTILINE
)
_INCLUDE = re.compile(r"""^["']?include["']?\s*:""", re.MULTILINE)
_TASK = re.compile(r"""^["']?task["']?\s*:""", re.MULTILINE)
_HEAD_BYTES = 1 << 16


def is_samples(path: str) -> bool:
    """Return true if a file has the name of a run's samples, such as `samples_arc_easy_2026-01-31T09-00-00.jsonl`."""
    return _NAME.fullmatch(Path(path).name) is not None


def task_and_date(path: str) -> tuple[str, str]:
    """Return the task and the date in the name of a file of samples.

    Example:
        >>> task_and_date("samples_arc_easy_2026-01-31T09-00-00.000001.jsonl")
        ('arc_easy', '2026-01-31T09-00-00.000001')

    """
    match = _NAME.fullmatch(Path(path).name)
    if match is None:
        raise ConfigError(f"{path}: a run's samples are called samples_TASK_DATE.jsonl")
    return match["task"], match["date"]


def is_lm_eval(path: str | None) -> bool:
    """Return true if a configuration is from lm-evaluation-harness: a task's YAML, or a run's samples."""
    if path is None:
        return False
    if is_samples(path):
        return True
    if Path(path).suffix.lower() not in (".yaml", ".yml"):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    is_task = _KEYS.search(head) or (_INCLUDE.search(head) and _TASK.search(head))
    return bool(is_task) and "infer_cfg" not in head
