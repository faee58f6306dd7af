"""The switch of OpenCompass's bulk backend: the methods of the harness that it replaces."""

from __future__ import annotations

from functools import partial

from promptpress_harness.bulk.patches import Patches
from promptpress_harness.bulk.prompts import accept_placeholders
from promptpress_harness.bulk.switch import Switch
from promptpress_harness.opencompass.bulk_call import (
    API_MODEL,
    CLP_INFERENCER,
    GEN_INFERENCER,
    LL_INFERENCER,
    METHOD,
    MODEL,
    PARALLEL_GEN_INFERENCER,
    PPL_INFERENCER,
    bulk_labels,
    bulk_prompts,
)
from promptpress_harness.opencompass.bulk_chat import INFERENCER as CHAT_INFERENCER
from promptpress_harness.opencompass.bulk_chat import PARALLEL_INFERENCER as PARALLEL_CHAT_INFERENCER
from promptpress_harness.opencompass.bulk_chat import bulk_chats
from promptpress_harness.opencompass.recorded_calls import BASE, OTHERS, left_to_harness, recorded, reporting_others
from promptpress_harness.registry import HARNESSES

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
