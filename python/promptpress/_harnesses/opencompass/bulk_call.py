"""One call of an inferencer of OpenCompass."""

from __future__ import annotations

from typing import Any

from promptpress._harnesses.bulk.bulk_call import BulkCall, Classes
from promptpress._harnesses.bulk.call_renderer import CallRenderer
from promptpress._harnesses.bulk.expansions import ExpandingCallRenderer

MODEL = "opencompass.models.base"
API_MODEL = "opencompass.models.base_api"


class OpenCompassBulkCall(BulkCall):
    """One call of an inferencer."""

    classes = Classes(
        dialect="opencompass",
        openicl="opencompass.openicl",
        models=MODEL,
        api_models=API_MODEL,
        templates={
            ("icl_prompt_template", "PromptTemplate"): ("template", "ice_token", "sep_token"),
            ("icl_raw_prompt_template", "RawPromptTemplate"): ("messages", "format_variables", "ice_token"),
        },
        passes_templates=True,
    )

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        if self.expands:
            return ExpandingCallRenderer(self.prompt_template, self.ice_template, *parts)
        return super().call_renderer_of(*parts)
