"""OpenCompass's prompt stage in bulk: on and off."""

from __future__ import annotations

from promptpress._backend.parsers import knowing_prompts
from promptpress._backend.patches import Patches
from promptpress._backend.switch import Switch
from promptpress.opencompass.bulk_chat import INFERENCER as CHAT_INFERENCER
from promptpress.opencompass.bulk_chat import bulk_chats
from promptpress.opencompass.bulk_clp import INFERENCER as CLP_INFERENCER
from promptpress.opencompass.bulk_clp import bulk_choices
from promptpress.opencompass.bulk_course import API_MODEL, MODEL
from promptpress.opencompass.bulk_gen import INFERENCER, bulk_prompts
from promptpress.opencompass.bulk_labels import LL_INFERENCER, PPL_INFERENCER, bulk_labels

_switch = Switch(
    "OpenCompass",
    "opencompass",
    Patches(
        {
            INFERENCER: {"GenInferencer.get_generation_prompt_list_from_retriever_indices": bulk_prompts},
            PPL_INFERENCER: {"PPLInferencer.inference": bulk_labels(PPL_INFERENCER, "PPLInferencer")},
            LL_INFERENCER: {"LLInferencer.inference": bulk_labels(LL_INFERENCER, "LLInferencer")},
            CLP_INFERENCER: {"CLPInferencer.inference": bulk_choices},
            CHAT_INFERENCER: {"ChatInferencer.get_chat_list": bulk_chats},
            MODEL: {"LMTemplateParser.parse_template": knowing_prompts},
            API_MODEL: {"APITemplateParser.parse_template": knowing_prompts},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
