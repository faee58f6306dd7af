"""Records the calls of OpenCompass's inferencers, each with the names of its model and its dataset."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from promptpress_harness.bulk.monkeypatches import originals
from promptpress_harness.bulk.report import CallRecord, fall_back, record_call

_INFERENCERS = "opencompass.openicl.icl_inferencer."
BASE = _INFERENCERS + "icl_base_inferencer"
OTHERS = {
    _INFERENCERS + "icl_agent_inferencer": "AgentInferencer",
    _INFERENCERS + "icl_attack_inferencer": "AttackInferencer",
    _INFERENCERS + "icl_chatml_inferencer": "ChatMLInferencer",
    _INFERENCERS + "icl_chatml_inferencer_parallel": "ParallelChatMLInferencer",
    _INFERENCERS + "icl_inference_ppl_only_inferencer": "InferencePPLOnlyInferencer",
    _INFERENCERS + "icl_mink_percent_inferencer": "MinKPercentInferencer",
    _INFERENCERS + "icl_ppl_only_inferencer": "PPLOnlyInferencer",
    _INFERENCERS + "icl_sc_inferencer": "SCInferencer",
    _INFERENCERS + "icl_sw_ce_loss_inferencer": "SWCELossInferencer",
    _INFERENCERS + "icl_tot_inferencer": "ToTInferencer",
}
"""Inferencers that aren't covered, because their loops make all prompts themselves."""


def recorded(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an inferencer's `inference`, so that it is recorded as one call."""

    @wraps(harness)
    def inference(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(*_names(self, rest, others), _count(self, retriever, rest, others)):
            return harness(self, retriever, *rest, **others)

    return inference


def left_to_harness(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `inference` of an inferencer that isn't covered."""

    @wraps(harness)
    def inference(self: Any, *rest: Any, **others: Any) -> Any:
        fall_back(f"{type(self).__name__} isn't covered")
        return harness(self, *rest, **others)

    return recorded(inference)


def reporting_others(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the base's constructor, so that it reports inferencers whose `inference` isn't the harness's."""

    @wraps(harness)
    def constructor(self: Any, *rest: Any, **others: Any) -> None:
        harness(self, *rest, **others)
        kind = type(self)
        if not kind.__module__.startswith(_INFERENCERS) and getattr(kind, "inference", None) not in originals:
            CallRecord(type(self.model).__name__).left(f"{kind.__name__} isn't covered")

    return constructor


def _names(inferencer: Any, rest: tuple[Any, ...], others: dict[str, Any]) -> tuple[str, str]:
    """Return the names of the model and the dataset: a task writes to `predictions/MODEL/DATASET.json`."""
    given = dict(zip(("output_json_filepath", "output_json_filename"), rest[2:], strict=False))
    folder, file = (
        given.get(name) or others.get(name) or getattr(inferencer, name, None) or ""
        for name in ("output_json_filepath", "output_json_filename")
    )
    kind = type(getattr(inferencer, "model", None)).__name__
    model = Path(folder).name if Path(folder).parent.name == "predictions" else kind
    return model, str(file).removesuffix(".json")


def _count(inferencer: Any, retriever: Any, rest: tuple[Any, ...], others: dict[str, Any]) -> int:
    """Return the number of prompts of a call."""
    try:
        count = len(retriever.test_ds)
    except (AttributeError, TypeError):
        return 0
    if not hasattr(inferencer, "labels"):
        return count
    given = {**dict(zip(("ice_template", "prompt_template"), rest, strict=False)), **others}
    template = getattr(given.get("prompt_template") or given.get("ice_template"), "template", None)
    labels = inferencer.labels or (template if isinstance(template, dict) else None) or ("",)
    return count * len(labels)
