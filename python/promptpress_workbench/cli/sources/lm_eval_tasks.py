"""Tasks of lm-evaluation-harness: their files, the samples that its runs log, and the command's options for them."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

from promptpress import ConfigError
from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.shell.option_values import natural
from promptpress_workbench.cli.shell.options import configuration_options, first_given

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
_KEYS = re.compile(
    r"""^["']?(doc_to_(text|target|choice)|output_type|formats|process_docs|fewshot_config)["']?\s*:""", re.MULTILINE
)
_INCLUDE = re.compile(r"""^["']?include["']?\s*:""", re.MULTILINE)
_TASK = re.compile(r"""^["']?task["']?\s*:""", re.MULTILINE)
_HEAD_BYTES = 1 << 16
_TASK_OPTIONS = ("num_fewshot", "fewshot_as_multiturn", "processed_docs", "system_instruction")
_OTHER_OPTIONS = (
    *("keep", "index", "order", "shared", "hashes", "jinja", "column", "add_generation_prompt", "where", "sample"),
    *configuration_options("examples"),
)


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


def add_lm_eval(parser: ArgumentParser) -> None:
    """Add the options of tasks."""
    add = parser.add_argument_group("if CONFIG is a YAML task of lm-evaluation-harness").add_argument
    add("--num-fewshot", type=natural, metavar="N", help="number of examples from --examples, instead of the task's")
    multiturn = "with --chat-template: write each example as messages of its own"
    add("--fewshot-as-multiturn", action="store_true", default=None, help=multiturn)
    add("--system-instruction", metavar="TEXT", help="a text before the description")
    add("--seed", type=int, metavar="N", help="the seed for the choice of examples (1234); else that of --sample (0)")
    processed = "--data contains what the task's process_docs returns"
    add("--processed-docs", action="store_true", default=None, help=processed)


def refuse_lm_eval(arguments: Namespace) -> None:
    """Refuse the options of tasks if there is no task."""
    option = first_given(arguments, _TASK_OPTIONS)
    if option is not None:
        raise UsageError(f"{option} is for tasks of lm-evaluation-harness, and there is none")


def refuse_others(arguments: Namespace) -> None:
    """Refuse options that don't apply to a task."""
    option = first_given(arguments, _OTHER_OPTIONS)
    if option is not None:
        hint = "; --system-instruction says what stands first" if option == "--system" else ""
        raise UsageError(
            f"{option}: {arguments.config} is a task of lm-evaluation-harness, which says itself what a request is"
            f"{hint}"
        )
    if arguments.fewshot_as_multiturn and arguments.chat_template is None:
        raise UsageError("--fewshot-as-multiturn: examples are messages in a chat; --chat-template says which")
