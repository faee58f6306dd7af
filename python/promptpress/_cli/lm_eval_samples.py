"""What a finished run of lm-evaluation-harness wrote down: a task's samples, and beside them the run's results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from promptpress import TemplateError
from promptpress._file_errors import ConfigError, DataError, reason
from promptpress._lm_eval.task_config import TaskConfig

from .lm_eval_files import task_and_date
from .lm_eval_requests import of_requests, outcome_of
from .outcome import Outcome

_FUNCTION = re.compile(r"\s*(@|def |lambda\b|<function |functools\.partial)")
_MAY_BE_FUNCTIONS = ("doc_to_text", "doc_to_target", "doc_to_choice", "samples")


@dataclass(frozen=True)
class FinishedRun:
    """A task of a run.

    Args:
        task: its name.
        config: its configuration, as the run wrote it down.
        docs: the documents of its samples.
        recorded: the requests of its samples, or of the first of them.
        numbers: the numbers of these documents in their split.
        whole: how many documents the split has; None where the results don't say it.
        options: arguments of `promptpress.lm_eval.requests`.

    """

    task: str
    config: dict[str, Any]
    docs: pa.Table
    recorded: Outcome
    numbers: list[int]
    whole: int | None
    options: dict[str, Any]

    @property
    def draws_from_its_split(self) -> bool:
        """Whether examples were drawn from the documents that are evaluated, which may be more than the samples."""
        try:
            task = TaskConfig.of(of_requests(self.config))
        except TemplateError:
            return False  # which is told when requests are made
        return bool(task.num_fewshot) and task.pool_split == task.evaluated_split


def finished_run(path: str, limit: int | None = None) -> FinishedRun:
    """Read the samples of a task, and the results beside them.

    Args:
        path: `samples_TASK_DATE.jsonl`; `results_DATE.json` lies in the same folder.
        limit: how many samples are compared.

    Returns:
        The run.

    Raises:
        DataError: when the samples can't be read.
        ConfigError: when the results can't, or say nothing of the task.

    """
    task, date = task_and_date(path)
    samples = _samples(path)
    results = _results(Path(path).with_name(f"results_{date}.json"))
    configs = results.get("configs")
    config = configs.get(task) if isinstance(configs, Mapping) else None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: the run's results say nothing of the task {task}")
    request_type = config.get("output_type", "generate_until")
    kind = "loglikelihood" if request_type == "multiple_choice" else request_type
    try:
        compared = samples[:limit]
        recorded = outcome_of(kind, [[list(one.values()) for one in row["arguments"].values()] for row in compared])
        docs = pa.Table.from_pylist([row["doc"] for row in samples])
        numbers = [int(row.get("doc_id", at)) for at, row in enumerate(compared)]
    except (AttributeError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path}: these aren't a run's samples: {type(error).__name__}: {reason(error)}") from error
    return FinishedRun(
        task, _as_given(config), docs, recorded, numbers, _whole(results, task), _options(results, config)
    )


def _whole(results: Mapping[str, Any], task: str) -> int | None:
    counts = results.get("n-samples")
    own = counts.get(task) if isinstance(counts, Mapping) else None
    found = own.get("original") if isinstance(own, Mapping) else None
    return found if isinstance(found, int) else None


def _samples(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            rows = [json.loads(line) for line in file]
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {reason(error)}") from error
    # Each filter writes all samples again.
    first = next((row.get("filter") for row in rows if isinstance(row, dict)), None)
    rows = [row for row in rows if isinstance(row, dict) and row.get("filter") == first]
    if not rows:
        raise DataError(f"{path}: there are no samples")
    return rows


def _results(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: the run's results can't be read: {reason(error)}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: these aren't a run's results")
    return found


def _as_given(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration as written down, where functions are their source: functions again, though none that run."""
    shots = config.get("fewshot_config")
    parts = [config] + ([shots] if isinstance(shots, dict) else [])
    made = [
        {key: _function_again(value) if key in _MAY_BE_FUNCTIONS else value for key, value in part.items()}
        for part in parts
    ]
    if len(made) == 2:
        made[0]["fewshot_config"] = made[1]
    return made[0]


def _function_again(value: Any) -> Any:
    return _gone if isinstance(value, str) and _FUNCTION.match(value) else value


def _gone(doc: Any) -> Any:
    raise NotImplementedError(f"a function of the run, asked for {doc!r}")


def _options(results: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    run = results.get("config")
    seed = run.get("fewshot_seed") if isinstance(run, Mapping) else None
    return {
        "num_fewshot": config.get("num_fewshot"),
        "seed": seed,
        "system_instruction": results.get("system_instruction"),
        "chat_template": _chat_template(results),
        "fewshot_as_multiturn": bool(results.get("fewshot_as_multiturn")),
    }


def _chat_template(results: Mapping[str, Any]) -> Callable[..., str] | None:
    """What renders messages as the run's tokenizer did; None where it had no chat template.

    Raises:
        ConfigError: when it isn't Jinja that compiles.

    """
    source = results.get("chat_template")
    if not isinstance(source, str) or not source:
        return None
    from jinja2 import TemplateError  # noqa: PLC0415 - for chats only

    from promptpress._jinja.reference import Reference  # noqa: PLC0415 - needs Jinja2

    try:
        template = Reference(source, "transformers")
    except Exception as error:
        raise ConfigError(f"the run's chat template: {reason(error)}") from error
    tokens = {f"{name}_token": _token(results.get(f"tokenizer_{name}_token")) for name in ("bos", "eos", "pad")}

    def render(messages: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        names = {**tokens, "add_generation_prompt": add_generation_prompt, "tools": None, "documents": None}
        try:
            text: str = template.render({**names, "messages": messages})
        except TemplateError:
            # The harness's models leave out what the system says where a template has no place for it.
            text = template.render({**names, "messages": [one for one in messages if one["role"] != "system"]})
        return text if add_generation_prompt else _continued(text, messages[-1]["content"])

    return render


def _continued(text: str, last: str) -> str:
    """A chat that stops where its last message does, white space included where the template keeps it."""
    at, whole, stripped = text.rindex(last.strip()), last.lstrip(), last.strip()
    return text[: at + len(whole if text[at:].startswith(whole) else stripped)]


def _token(found: Any) -> str:
    return found[0] if isinstance(found, list) and found and isinstance(found[0], str) else ""
