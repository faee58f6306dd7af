"""OpenCompass's prompt stage in bulk: on and off."""

from __future__ import annotations

from promptpress._backend.parsers import knowing_prompts
from promptpress._backend.patches import Patches, Wrap
from promptpress._backend.switch import Switch
from promptpress.opencompass.bulk_calls import BASE, OTHERS, by_the_harness, named, told_of
from promptpress.opencompass.bulk_chat import INFERENCER as CHAT_INFERENCER
from promptpress.opencompass.bulk_chat import PARALLEL_INFERENCER as PARALLEL_CHAT_INFERENCER
from promptpress.opencompass.bulk_chat import bulk_chats
from promptpress.opencompass.bulk_clp import INFERENCER as CLP_INFERENCER
from promptpress.opencompass.bulk_clp import bulk_choices
from promptpress.opencompass.bulk_course import API_MODEL, MODEL
from promptpress.opencompass.bulk_gen import INFERENCER, METHOD, PARALLEL_INFERENCER, bulk_prompts
from promptpress.opencompass.bulk_labels import LL_INFERENCER, PPL_INFERENCER, bulk_labels


def _labelled(module: str, name: str) -> Wrap:
    return lambda harness: named(bulk_labels(module, name)(harness))


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
