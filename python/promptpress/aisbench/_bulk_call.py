"""AISBench's classes, and how its retriever is asked for prompts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from promptpress._backend import report
from promptpress._backend.bulk_call import BulkCall, Classes, loaded
from promptpress._backend.call_renderer import CallRenderer
from promptpress._backend.monkeypatches import NotCoveredError
from promptpress.aisbench._bulk_media import JSON_OUTPUT, MediaCallRenderer
from promptpress.aisbench._bulk_media import TEMPLATE as MEDIA_TEMPLATE

_OPENICL = "ais_bench.benchmark.openicl"
_ATTRIBUTES = ("template", "ice_token", "sep_token")
MODEL = "ais_bench.benchmark.models.local_models.base"
API_MODEL = "ais_bench.benchmark.models.api_models.base_api"


def record_call(inferencer: Any, retriever: Any) -> AbstractContextManager[report.CallRecord]:
    """What goes on within is one call of an inferencer.

    Args:
        inferencer: The harness's inferencer.
        retriever: The harness's retriever.
    """
    config = getattr(inferencer, "model_cfg", None) or {}
    labels = getattr(inferencer, "labels", None) or ("",)
    count = len(retriever.test_ds) * len(labels)
    return report.record_call(str(config.get("abbr", "")), str(getattr(retriever.dataset, "abbr", "")), count)


class AISBenchBulkCall(BulkCall):
    """One call of an inferencer, whose retriever has the templates."""

    classes = Classes(
        dialect="aisbench",
        openicl=_OPENICL,
        models=MODEL,
        api_models=API_MODEL,
        templates={
            ("icl_prompt_template.icl_prompt_template", "PromptTemplate"): _ATTRIBUTES,
            MEDIA_TEMPLATE: _ATTRIBUTES,
        },
    )

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        at, name = MEDIA_TEMPLATE
        media = loaded(f"{_OPENICL}.{at}", name)
        if type(self.ice_template) is media:
            raise NotCoveredError("examples of a multimodal template")
        if type(self.prompt_template) is media:
            return MediaCallRenderer(self.prompt_template, *parts)
        return super().call_renderer_of(*parts)

    def _parser_settings(self, parser: Any, shape: type) -> dict[str, Any] | None:
        settings = super()._parser_settings(parser, shape)
        to_messages = type(parser) is loaded(*self.classes.api_parser)
        if settings is not None and to_messages and isinstance(self.renderer, MediaCallRenderer):
            settings["output"] = JSON_OUTPUT
        return settings

    def ice(self, rows: Sequence[int]) -> Any:
        return self.retriever.generate_ice(rows)

    def joined(self, stand_in: Any, rows: Sequence[int], items: Any) -> Any:
        stand_in = SimpleNamespace(**vars(stand_in), ice_template=items)
        return loaded(*self.classes.retriever).generate_ice(stand_in, rows)

    def generation_prompt(self, token: str, row: int, rows: Sequence[int]) -> Any:
        return self.retriever.generate_prompt_for_generate_task(row, self.ice(rows), gen_field_replace_token=token)

    def label_prompt(self, label: Any, row: int, rows: Sequence[int]) -> Any:
        return self.retriever.generate_label_prompt(idx=row, ice=self.ice(rows), label=label)
