"""The switch of OpenCompass's bulk backend, and a report, without a model, of what the backend covers.

    from promptpress.opencompass import coverage
    result = coverage(dataset_cfg, model_cfg)
    print("bulk" if result.in_bulk else result.reason)

For the report the harness's dataset, templates and retriever are built as its task builds them, but not the model: only
the parser of its class is, which parses the first prompt.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from promptpress_harness.bulk.dataset import materialized
from promptpress_harness.bulk.monkeypatches import NotCoveredError
from promptpress_harness.bulk.rendering import accept_placeholders
from promptpress_harness.bulk.report import fall_back, silent_record
from promptpress_harness.bulk.retriever import BulkRetriever, CachedRetriever
from promptpress_harness.bulk.switch import Patches, Switch
from promptpress_harness.opencompass.bulk_call import (
    API_MODEL,
    BASE,
    CLP_INFERENCER,
    GEN_INFERENCER,
    LL_INFERENCER,
    METHOD,
    MODEL,
    OTHERS,
    PARALLEL_GEN_INFERENCER,
    PPL_INFERENCER,
    bulk_chats,
    bulk_labels,
    bulk_prompts,
    choices_of,
    generation_of,
    is_covered,
    is_generating,
    labels_of,
    left_to_harness,
    recorded,
    reporting_others,
)
from promptpress_harness.opencompass.bulk_call import INFERENCER as CHAT_INFERENCER
from promptpress_harness.opencompass.bulk_call import PARALLEL_INFERENCER as PARALLEL_CHAT_INFERENCER
from promptpress_harness.registry import HARNESSES, loaded

_switch = Switch(
    HARNESSES["opencompass"],
    Patches(
        {
            BASE: {"BaseInferencer.__init__": reporting_others},
            GEN_INFERENCER: {
                f"GenInferencer.{METHOD}": bulk_prompts,
                "GenInferencer.inference": recorded,
                "GLMChoiceInferencer.inference": left_to_harness,
            },
            PARALLEL_GEN_INFERENCER: {"ParallelGenInferencer.inference": recorded},
            PPL_INFERENCER: {"PPLInferencer.inference": partial(bulk_labels, PPL_INFERENCER, "PPLInferencer")},
            LL_INFERENCER: {"LLInferencer.inference": partial(bulk_labels, LL_INFERENCER, "LLInferencer")},
            CLP_INFERENCER: {"CLPInferencer.inference": partial(bulk_labels, CLP_INFERENCER, "CLPInferencer")},
            CHAT_INFERENCER: {"ChatInferencer.get_chat_list": bulk_chats, "ChatInferencer.inference": recorded},
            PARALLEL_CHAT_INFERENCER: {"ParallelChatInferencer.inference": recorded},
            MODEL: {"LMTemplateParser.parse_template": accept_placeholders},
            API_MODEL: {"APITemplateParser.parse_template": accept_placeholders},
            **{module: {f"{name}.inference": left_to_harness} for module, name in OTHERS.items()},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend


@dataclass(frozen=True)
class Coverage:
    """The way that prompts would go.

    Args:
        reason: The reason why the harness would make them; None if they are rendered in bulk.

    Example:
        >>> Coverage(reason=None).in_bulk
        True
    """

    reason: str | None

    @property
    def in_bulk(self) -> bool:
        """True if they are rendered in bulk."""
        return self.reason is None


def coverage(dataset_cfg: Mapping[str, Any], model_cfg: Mapping[str, Any], *, dataset: Any = None) -> Coverage:
    """Return the way that the prompts of a dataset and a model of OpenCompass would go.

    Args:
        dataset_cfg: A dataset's configuration, as OpenCompass has it.
        model_cfg: A model's configuration.
        dataset: The harness's dataset, with `reader`, `train` and `test`; without one it is loaded.

    Returns:
        The way, with the reason if the harness would make the prompts.

    Raises:
        ImportError: If OpenCompass can't be imported.
        Exception: Any error of the harness when it builds the parts, or the first prompt.
    """
    from mmengine.config import ConfigDict  # noqa: PLC0415 - the harness is imported when asked for
    from opencompass import registry  # noqa: PLC0415
    from opencompass.utils import build_dataset_from_cfg  # noqa: PLC0415

    config = ConfigDict(copy.deepcopy(dict(dataset_cfg)))
    infer = config["infer_cfg"]
    if dataset is None:
        dataset = build_dataset_from_cfg(config)
    build_template = registry.ICL_PROMPT_TEMPLATES.build
    templates = {name: build_template(infer[name]) for name in ("ice_template", "prompt_template") if name in infer}
    retriever = registry.ICL_RETRIEVERS.build({**infer["retriever"], "dataset": dataset})
    model_type = model_cfg["type"]
    kind = registry.MODELS.get(str(model_type)) if isinstance(model_type, str) else model_type
    with tempfile.TemporaryDirectory() as folder, backend():
        model = _model(kind, ConfigDict(copy.deepcopy(dict(model_cfg))))
        settings = {"max_out_len": 1, **infer["inferencer"], "model": model, "output_json_filepath": folder}
        settings["max_seq_len"] = model_cfg.get("max_seq_len")
        with silent_record() as record:
            inferencer = registry.ICL_INFERENCERS.build(settings)
            _try_first(inferencer, CachedRetriever(retriever, retriever.retrieve()), **templates)
    return Coverage(record.reasons[0] if record.reasons else None)


def _model(kind: Any, config: Any) -> Any:
    """Return an object of a model's class that has a parser and nothing else."""
    from opencompass.models.base import LMTemplateParser  # noqa: PLC0415
    from opencompass.models.base_api import APITemplateParser, BaseAPIModel  # noqa: PLC0415

    if kind is None:
        raise NotCoveredError("the model's type isn't known")
    model = object.__new__(kind)
    parser = APITemplateParser if issubclass(kind, BaseAPIModel) else LMTemplateParser
    model.template_parser = parser(config.get("meta_template"))
    return model


def _try_first(inferencer: Any, cached: CachedRetriever, ice_template: Any = None, prompt_template: Any = None) -> None:
    """Have the first prompt made as the inferencer's loop would; the record of the call has the way that it went."""
    kind, model, retriever = type(inferencer), inferencer.model, cached.wrapped
    templates = (ice_template, prompt_template)
    if is_generating(inferencer):
        token = inferencer.gen_field_replace_token
        shots = materialized(cached.shots, is_read_once=True)
        settings = {"token": token, "max_seq_len": inferencer.max_seq_len}
        bulk_call = generation_of(inferencer, retriever, shots, *templates, **settings)
        if bulk_call is not None:
            model.parse_template(bulk_call.generation(token).prompt(0), mode="gen")
    elif kind in {loaded(PPL_INFERENCER, "PPLInferencer"), loaded(LL_INFERENCER, "LLInferencer")}:
        if is_covered(inferencer, kind.__module__, kind.__name__):
            bulk_call = labels_of(inferencer, retriever, cached.shots, *templates)
            if bulk_call is not None:
                labels = inferencer.labels or retriever.get_labels(
                    ice_template=ice_template, prompt_template=prompt_template
                )
                bulk = BulkRetriever(bulk_call)
                first = bulk.generate_label_prompt(0, bulk.generate_ice(bulk_call.renderer.shots[0]), labels[0])
                model.parse_template(first, mode="ppl")
    elif kind is loaded(CLP_INFERENCER, "CLPInferencer"):
        if is_covered(inferencer, CLP_INFERENCER, "CLPInferencer"):
            bulk_call = choices_of(inferencer, retriever, cached.shots, *templates)
            if bulk_call is not None:
                model.parse_template(bulk_call.generation("").prompt(0), mode="gen")
    elif hasattr(inferencer, "get_chat_list"):
        inferencer.get_chat_list(cached.shots, retriever, prompt_template=prompt_template)
    else:
        fall_back(f"{kind.__name__} isn't covered")
