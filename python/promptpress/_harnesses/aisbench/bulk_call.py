"""One call of an inferencer of AISBench."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from promptpress._harnesses.aisbench.bulk_media import JSON_OUTPUT, MediaCallRenderer
from promptpress._harnesses.aisbench.bulk_media import TEMPLATE as MEDIA_TEMPLATE
from promptpress._harnesses.bulk import report
from promptpress._harnesses.bulk.bulk_call import BulkCall, Classes
from promptpress._harnesses.bulk.call_renderer import CallRenderer
from promptpress._harnesses.bulk.monkeypatches import NotCoveredError
from promptpress._harnesses.single.harness import loaded

_OPENICL = "ais_bench.benchmark.openicl"
_ATTRIBUTES = ("template", "ice_token", "sep_token")
MODEL = "ais_bench.benchmark.models.local_models.base"
API_MODEL = "ais_bench.benchmark.models.api_models.base_api"


def record_call(inferencer: Any, retriever: Any) -> AbstractContextManager[report.CallRecord]:
    """Record the block as one call of an inferencer."""
    config = getattr(inferencer, "model_cfg", None) or {}
    labels = getattr(inferencer, "labels", None) or ("",)
    count = len(retriever.test_ds) * len(labels)
    return report.record_call(str(config.get("abbr", "")), str(getattr(retriever.dataset, "abbr", "")), count)


class AISBenchBulkCall(BulkCall):
    """One call of an inferencer."""

    classes = Classes(
        dialect="aisbench",
        openicl=_OPENICL,
        models=MODEL,
        api_models=API_MODEL,
        templates={
            ("icl_prompt_template.icl_prompt_template", "PromptTemplate"): _ATTRIBUTES,
            MEDIA_TEMPLATE: _ATTRIBUTES,
        },
        passes_templates=False,
    )

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        module, name = MEDIA_TEMPLATE
        media = loaded(f"{_OPENICL}.{module}", name)
        if type(self.ice_template) is media:
            raise NotCoveredError("examples of a multimodal template")
        if type(self.prompt_template) is media:
            return MediaCallRenderer(self.prompt_template, *parts)
        return super().call_renderer_of(*parts)

    def _parser_settings(self, parser: Any, shape: type) -> dict[str, Any] | None:
        settings = super()._parser_settings(parser, shape)
        to_messages = type(parser) is self.classes.api_parser()
        if settings is not None and to_messages and isinstance(self.renderer, MediaCallRenderer):
            settings["output"] = JSON_OUTPUT
        return settings
