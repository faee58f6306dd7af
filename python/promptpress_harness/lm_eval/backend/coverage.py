"""Checks which tasks' requests can be built in bulk."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from promptpress_harness.bulk.monkeypatches import (
    NotCoveredError,
    check_no_shadows,
    check_unpatched,
    check_unpatched_class,
)

TASK = "lm_eval.api.task"
SAMPLERS = "lm_eval.api.samplers"
_OUTPUT_TYPES = ("loglikelihood", "loglikelihood_rolling", "multiple_choice", "generate_until")
_BASE_METHODS = ("doc_iterator", "resolve_field")
_METHODS = (
    *("fewshot_context", "build_qa_turn", "multiple_input_context", "construct_requests"),
    *("doc_to_text", "doc_to_target", "doc_to_choice", "doc_to_prefix"),
    *("has_test_docs", "has_validation_docs", "test_docs", "validation_docs"),
)
_SAMPLERS = ("ContextSampler", "FirstNSampler")
_TYPES: dict[str, tuple[type, ...]] = {
    "doc_to_text": (str, int),
    "doc_to_target": (str, int, list),
    "doc_to_choice": (str, list, dict),
    "description": (str,),
    "gen_prefix": (str,),
    "target_delimiter": (str,),
    "fewshot_delimiter": (str,),
}
"""Types of the settings that aren't functions; a function would see every document."""
_CHANCE = re.compile(r"\|\s*random\b|\blipsum\b")
"""Matches what draws random numbers in a template: an example that is made once would draw fewer of them."""


def check_task(task: Any) -> None:
    """Raise NotCoveredError unless a task makes its requests as the harness's code does, from templates and columns."""
    module = sys.modules[TASK]
    if type(task) is not vars(module).get("ConfigurableTask"):
        raise NotCoveredError(f"{type(task).__name__} is a class of its own")
    check_no_shadows(task)
    for path in (*(f"Task.{name}" for name in _BASE_METHODS), *(f"ConfigurableTask.{name}" for name in _METHODS)):
        check_unpatched(TASK, path)
    if task.OUTPUT_TYPE not in _OUTPUT_TYPES:
        raise NotCoveredError(f"the output type {task.OUTPUT_TYPE!r} isn't known")
    if getattr(task, "prompt", None) is not None:
        raise NotCoveredError("use_prompt isn't covered")
    for name in ("doc_to_image", "doc_to_audio"):
        if getattr(task.config, name, None):
            raise NotCoveredError(f"{name} isn't covered")
    _check_settings(task.config, "", _TYPES)
    if task.config.num_fewshot:
        _check_settings(task.fewshot_cfg, "fewshot_config's ", [name for name in _TYPES if name != "description"])
        _check_sampler(getattr(task, "sampler", None))


def _check_settings(settings: Any, prefix: str, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is None or type(value) in _TYPES[name]:
            if "{" in str(value) and _CHANCE.search(str(value)):
                raise NotCoveredError(f"{prefix}{name} draws random numbers")
            continue
        what = "is a function" if callable(value) else f"is of the type {type(value).__name__}"
        raise NotCoveredError(f"{prefix}{name} {what}")


def _check_sampler(sampler: Any) -> None:
    module = sys.modules[SAMPLERS]
    kind = type(sampler)
    if not any(kind is vars(module).get(name) for name in _SAMPLERS):
        raise NotCoveredError(f"the sampler {kind.__name__} isn't covered")
    check_unpatched_class(kind)
    check_no_shadows(sampler)
