"""OpenCompass's classes, and how its retriever is asked for prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpress._backend.bulk_call import BulkCall, Classes, loaded
from promptpress._backend.call_renderer import CallRenderer
from promptpress._backend.expansions import ExpandingCallRenderer

MODEL = "opencompass.models.base"
API_MODEL = "opencompass.models.base_api"


class OpenCompassBulkCall(BulkCall):
    """One call of an inferencer, which hands the templates to the retriever each time."""

    classes = Classes(
        dialect="opencompass",
        openicl="opencompass.openicl",
        models=MODEL,
        api_models=API_MODEL,
        templates={
            ("icl_prompt_template", "PromptTemplate"): ("template", "ice_token", "sep_token"),
            ("icl_raw_prompt_template", "RawPromptTemplate"): ("messages", "format_variables", "ice_token"),
        },
    )

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        if self.expands:
            return ExpandingCallRenderer(self.prompt_template, self.ice_template, *parts)
        return super().call_renderer_of(*parts)

    def ice(self, rows: Sequence[int]) -> Any:
        return self.retriever.generate_ice(rows, ice_template=self.ice_template)

    def joined(self, stand_in: Any, rows: Sequence[int], items: Any) -> Any:
        return loaded(*self.classes.retriever).generate_ice(stand_in, rows, ice_template=items)

    def generation_prompt(self, token: str, row: int, rows: Sequence[int]) -> Any:
        return self.retriever.generate_prompt_for_generate_task(
            row,
            self.ice(rows),
            gen_field_replace_token=token,
            ice_template=self.ice_template,
            prompt_template=self.prompt_template,
        )

    def label_prompt(self, label: Any, row: int, rows: Sequence[int]) -> Any:
        return self.retriever.generate_label_prompt(
            row,
            self.ice(rows),
            label,
            ice_template=self.ice_template,
            prompt_template=self.prompt_template,
            remain_sep=False,
        )
