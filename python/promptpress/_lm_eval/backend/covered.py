"""Which tasks' requests are built in bulk."""

from __future__ import annotations

import sys
from typing import Any

from promptpress._backend.monkeypatches import (
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
    "fewshot_context",
    "build_qa_turn",
    "multiple_input_context",
    "construct_requests",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "doc_to_prefix",
    "has_test_docs",
    "has_validation_docs",
    "test_docs",
    "validation_docs",
)
_SAMPLERS = ("ContextSampler", "FirstNSampler")
_PLAIN = {
    "doc_to_text": (str, int),
    "doc_to_target": (str, int, list),
    "doc_to_choice": (str, list, dict),
    "description": (str,),
    "gen_prefix": (str,),
    "target_delimiter": (str,),
    "fewshot_delimiter": (str,),
}
"""What may be configured without a function that sees every document."""
_SHOTS = ("doc_to_text", "doc_to_target", "doc_to_choice", "gen_prefix", "target_delimiter", "fewshot_delimiter")


def check_task(task: Any) -> None:
    """Check that a task makes its requests as the harness's own files say, from templates and columns.

    Args:
        task: The harness's task.

    Raises:
        NotCoveredError: If it doesn't.
    """
    module = sys.modules[TASK]
    if type(task) is not vars(module).get("ConfigurableTask"):
        raise NotCoveredError(f"{type(task).__name__} is a class of its own")
    check_no_shadows(task)
    for name in _BASE_METHODS:
        check_unpatched(TASK, f"Task.{name}")
    for name in _METHODS:
        check_unpatched(TASK, f"ConfigurableTask.{name}")
    if task.OUTPUT_TYPE not in _OUTPUT_TYPES:
        raise NotCoveredError(f"the output type {task.OUTPUT_TYPE!r} isn't known")
    if getattr(task, "prompt", None) is not None:
        raise NotCoveredError("use_prompt isn't covered")
    for name in ("doc_to_image", "doc_to_audio"):
        if getattr(task.config, name, None):
            raise NotCoveredError(f"{name} isn't covered")
    _check_settings(task.config, "", tuple(_PLAIN))
    if task.config.num_fewshot:
        _check_settings(task.fewshot_cfg, "fewshot_config's ", _SHOTS)
        _check_sampler(getattr(task, "sampler", None))


def _check_settings(settings: Any, place: str, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is None or type(value) in _PLAIN[name]:
            continue
        what = "is a function" if callable(value) else f"is of the type {type(value).__name__}"
        raise NotCoveredError(f"{place}{name} {what}")


def _check_sampler(sampler: Any) -> None:
    module = sys.modules[SAMPLERS]
    kind = type(sampler)
    if not any(kind is vars(module).get(name) for name in _SAMPLERS):
        raise NotCoveredError(f"the sampler {kind.__name__} isn't covered")
    check_unpatched_class(kind)
    check_no_shadows(sampler)
