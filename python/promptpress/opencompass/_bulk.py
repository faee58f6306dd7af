"""OpenCompass's prompt stage in bulk: on and off."""

from __future__ import annotations

from typing import Any

from promptpress._backend.bulk_call import loaded
from promptpress._backend.parsers import knowing_prompts
from promptpress._backend.patches import Patches, Wrap
from promptpress._backend.report import fall_back
from promptpress._backend.retrieved_rows import materialized
from promptpress._backend.retriever import BulkRetriever
from promptpress._backend.switch import Switch
from promptpress.opencompass._bulk_call import API_MODEL, MODEL
from promptpress.opencompass._bulk_chat import INFERENCER as CHAT_INFERENCER
from promptpress.opencompass._bulk_chat import PARALLEL_INFERENCER as PARALLEL_CHAT_INFERENCER
from promptpress.opencompass._bulk_chat import bulk_chats
from promptpress.opencompass._bulk_clp import INFERENCER as CLP_INFERENCER
from promptpress.opencompass._bulk_clp import bulk_choices, choices_of
from promptpress.opencompass._bulk_gen import (
    INFERENCER,
    METHOD,
    PARALLEL_INFERENCER,
    bulk_prompts,
    generation_of,
    is_generating,
)
from promptpress.opencompass._bulk_labels import LL_INFERENCER, PPL_INFERENCER, bulk_labels, is_covered, labels_of
from promptpress.opencompass._recorded_calls import BASE, OTHERS, by_the_harness, named, told_of


def _labelled(module: str, name: str) -> Wrap:
    return lambda harness: named(bulk_labels(module, name)(harness))


def try_first(inferencer: Any, retriever: Any, ice_template: Any = None, prompt_template: Any = None) -> None:
    """Have the first prompt of a call made, as the inferencer's loop would; the call says which way it went.

    Args:
        inferencer: The harness's inferencer, with a model that needs nothing but a parser.
        retriever: What has chosen already.
        ice_template: The harness's template of examples, or None.
        prompt_template: The harness's template of prompts, or None.
    """
    kind, model, shots = type(inferencer), inferencer.model, retriever.shots
    templates = (ice_template, prompt_template)
    own = retriever.wrapped
    if is_generating(inferencer):
        token = inferencer.gen_field_replace_token
        shots = materialized(shots, is_read_once=True)
        bulk_call = generation_of(inferencer, own, shots, *templates, token=token, counts=inferencer.max_seq_len)
        if bulk_call is not None:
            model.parse_template(bulk_call.generation(token).prompt(0), mode="gen")
    elif kind in {loaded(PPL_INFERENCER, "PPLInferencer"), loaded(LL_INFERENCER, "LLInferencer")}:
        bulk_call = None
        if is_covered(inferencer, kind.__module__, kind.__name__, is_normalized=False):
            bulk_call = labels_of(inferencer, own, shots, *templates)
        if bulk_call is not None:
            labels = inferencer.labels or own.get_labels(ice_template=ice_template, prompt_template=prompt_template)
            bulk = BulkRetriever(bulk_call)
            first = bulk.generate_label_prompt(0, bulk.generate_ice(bulk_call.renderer.shots[0]), labels[0])
            model.parse_template(first, mode="ppl")
    elif kind is loaded(CLP_INFERENCER, "CLPInferencer"):
        bulk_call = None
        if is_covered(inferencer, CLP_INFERENCER, "CLPInferencer", is_normalized=False):
            bulk_call = choices_of(inferencer, own, shots, *templates)
        if bulk_call is not None:
            model.parse_template(bulk_call.generation("").prompt(0), mode="gen")
    elif hasattr(inferencer, "get_chat_list"):
        inferencer.get_chat_list(shots, own, prompt_template=prompt_template)
    else:
        fall_back(f"{kind.__name__} isn't covered")


_switch = Switch(
    "OpenCompass",
    "opencompass",
    Patches(
        {
            BASE: {"BaseInferencer.__init__": told_of},
            INFERENCER: {
                f"GenInferencer.{METHOD}": bulk_prompts,
                "GenInferencer.inference": named,
                "GLMChoiceInferencer.inference": by_the_harness,
            },
            PARALLEL_INFERENCER: {"ParallelGenInferencer.inference": named},
            PPL_INFERENCER: {"PPLInferencer.inference": _labelled(PPL_INFERENCER, "PPLInferencer")},
            LL_INFERENCER: {"LLInferencer.inference": _labelled(LL_INFERENCER, "LLInferencer")},
            CLP_INFERENCER: {"CLPInferencer.inference": lambda harness: named(bulk_choices(harness))},
            CHAT_INFERENCER: {"ChatInferencer.get_chat_list": bulk_chats, "ChatInferencer.inference": named},
            PARALLEL_CHAT_INFERENCER: {"ParallelChatInferencer.inference": named},
            MODEL: {"LMTemplateParser.parse_template": knowing_prompts},
            API_MODEL: {"APITemplateParser.parse_template": knowing_prompts},
            **{module: {f"{name}.inference": by_the_harness} for module, name in OTHERS.items()},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
