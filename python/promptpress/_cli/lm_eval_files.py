"""Which files are lm-evaluation-harness's: tasks, and what its runs write down."""

from __future__ import annotations

import re
from pathlib import Path

from promptpress._file_errors import ConfigError

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
_KEYS = re.compile(
    r"""^["']?(doc_to_(text|target|choice)|output_type|process_docs|fewshot_config)["']?\s*:""", re.MULTILINE
)
_INCLUDE = re.compile(r"""^["']?include["']?\s*:""", re.MULTILINE)
_TASK = re.compile(r"""^["']?task["']?\s*:""", re.MULTILINE)
_HEAD_BYTES = 1 << 16


def is_samples(path: str) -> bool:
    """Say whether a file has the name of a run's samples.

    Args:
        path: the file.

    Returns:
        Whether it has.

    Example:
        >>> is_samples("out/samples_arc_easy_2026-01-31T09-00-00.000001.jsonl"), is_samples("samples.jsonl")
        (True, False)

    """
    return _NAME.fullmatch(Path(path).name) is not None


def task_and_date(path: str) -> tuple[str, str]:
    """Take the name of a file of samples apart.

    Args:
        path: the file.

    Returns:
        The task's name and the run's date.

    Raises:
        ConfigError: when it isn't such a name.

    Example:
        >>> task_and_date("samples_arc_easy_2026-01-31T09-00-00.000001.jsonl")
        ('arc_easy', '2026-01-31T09-00-00.000001')

    """
    found = _NAME.fullmatch(Path(path).name)
    if found is None:
        raise ConfigError(f"{path}: a run's samples are called samples_TASK_DATE.jsonl")
    return found["task"], found["date"]


def is_lm_eval(path: str | None) -> bool:
    """Say whether a configuration is lm-evaluation-harness's: a task's YAML, or a run's samples.

    Args:
        path: the file.

    Returns:
        Whether it is, as far as its name and its first lines tell.

    Example:
        >>> is_lm_eval("samples_arc_easy_2026-01-31T09-00-00.000001.jsonl"), is_lm_eval("eval.py")
        (True, False)

    """
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
    if "infer_cfg" in head:
        return False
    return bool(_KEYS.search(head) or (_INCLUDE.search(head) and _TASK.search(head)))
