"""OpenCompass's prompt stage in bulk: on and off."""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager

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
    )
)


def enable() -> None:
    """Have OpenCompass's inferencers render their prompts in bulk, in this process, from now on.

    What the model receives, what is written and what is raised stay as they are. What isn't covered is done by the
    harness's own code, and the log of `promptpress.backend` says so once for each reason. The harness may be imported
    before or after.

    Raises:
        ImportError: If OpenCompass isn't installed.
    """
    if importlib.util.find_spec("opencompass") is None:
        raise ImportError("OpenCompass isn't installed", name="opencompass")
    _switch.on()


def disable() -> None:
    """Have OpenCompass make its prompts itself again; call it between runs, not within one."""
    _switch.off()


def backend() -> AbstractContextManager[None]:
    """On within a `with` block, and then as it was before.

    Raises:
        ImportError: If OpenCompass isn't installed.
    """
    if importlib.util.find_spec("opencompass") is None:
        raise ImportError("OpenCompass isn't installed", name="opencompass")
    return _switch.during()
