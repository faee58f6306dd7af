"""One call of an inferencer of AISBench, and the bulk prompts of MMPromptTemplate."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress_harness.bulk import report
from promptpress_harness.bulk.bulk_call import BulkCall, Classes
from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_harness.bulk.monkeypatches import NotCoveredError
from promptpress_harness.single.harness import loaded

_MEDIA_TEMPLATE = ("icl_prompt_template.icl_prompt_template_mm", "MMPromptTemplate")
_CONTENT_COLUMN = "content"
_SIZE_SAMPLE_ROWS = 32
_MAX_BLOCK_BYTES = 1 << 24
_JSON_OUTPUT = "messages_json"
_OPENICL = "ais_bench.benchmark.openicl"
_ATTRIBUTES = ("template", "ice_token", "sep_token")
MODEL = "ais_bench.benchmark.models.local_models.base"
API_MODEL = "ais_bench.benchmark.models.api_models.base_api"


class MediaCallRenderer(CallRenderer):
    """Renders messages that hold lists of parts.

    They are rendered as JSON: a part has the keys of its entry in the template, in that order and with its nulls, which
    one Arrow type for all parts would lose.

    Raises:
        NotCoveredError: For examples, for samples whose `content` is no string, and for entries that JSON can't hold.
    """

    def __init__(self, template: Any, *parts: Any) -> None:
        super().__init__(*parts)
        if template.ice_token is not None or template.sep_token is not None or any(self.shots):
            raise NotCoveredError("multimodal prompts with examples")
        index = self.samples.schema.get_field_index(_CONTENT_COLUMN)
        if index < 0 or not types.is_string(self.samples.schema.field(index).type):
            raise NotCoveredError("multimodal samples without a text 'content'")
        kinds = {type(part) for part in _dicts(template.template)}
        if len(kinds) > 1 or not kinds <= {dict, loaded("mmengine.config", "ConfigDict")}:
            raise NotCoveredError("entries of a multimodal template are of a class of their own")
        # A payload may have megabytes, so its size limits a block.
        size = pc.mean(pc.binary_length(self.samples.slice(0, _SIZE_SAMPLE_ROWS)[_CONTENT_COLUMN])).as_py() or 0
        self.largest_block = max(1, min(self.largest_block, _MAX_BLOCK_BYTES // (1 + int(size))))
        self._part = kinds.pop() if kinds else dict

    def kind_of(self, arguments: dict[str, Any], request: Any) -> Callable[[Any], Any]:
        if arguments["output"] != _JSON_OUTPUT:
            return super().kind_of(arguments, request)
        list_kind = type(request) if isinstance(request, list) else list
        # Without a meta template there are no messages: a request is a list of the turns' parts, or a text.
        item = self._message if arguments.get("meta_template") else self._part
        return lambda parsed: list_kind(map(item, parsed)) if isinstance(parsed, list) else parsed

    def requests_of(self, arguments: dict[str, Any], prompts: pa.ChunkedArray, kind: Callable[[Any], Any]) -> Any:
        if arguments["output"] != _JSON_OUTPUT:
            return super().requests_of(arguments, prompts, kind)
        lines = prompts.to_pylist()
        return lambda index: kind(json.loads(lines[index]))

    def _message(self, parsed: Any) -> Any:
        if isinstance(parsed, str):
            return parsed
        return {
            "prompt" if key == "parts" else key: list(map(self._part, value)) if key == "parts" else value
            for key, value in parsed.items()
        }


def _dicts(template: Any) -> Iterator[Any]:
    """Yield the dicts that parts are copied from; raise NotCoveredError for values that change in JSON."""
    for section in template.values():
        for item in section if isinstance(section, list) else [section]:
            if isinstance(item, dict) and "prompt_mm" in item:
                yield from _inner_dicts(item["prompt_mm"])


def _inner_dicts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
        if not all(type(key) is str for key in value):
            raise NotCoveredError("a part has keys that are no strings")
        for inner in value.values():
            yield from _inner_dicts(inner)
    elif type(value) is list:
        for inner in value:
            yield from _inner_dicts(inner)
    elif not (value is None or type(value) in {str, int, bool} or (type(value) is float and math.isfinite(value))):
        raise NotCoveredError(f"a part holds a {type(value).__name__}")


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
            _MEDIA_TEMPLATE: _ATTRIBUTES,
        },
        passes_templates=False,
    )

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        module, name = _MEDIA_TEMPLATE
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
            settings["output"] = _JSON_OUTPUT
        return settings
