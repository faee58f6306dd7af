"""The switch of AISBench's bulk backend: the calls of its inferencers, with their bulk prompts and dialogues."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, islice
from operator import methodcaller
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import Renderer, to_pylist
from promptpress.engine import silent
from pyarrow import types

from promptpress_harness.aisbench.prompt_list import get_round_index
from promptpress_harness.bulk import report
from promptpress_harness.bulk.bulk_call import (
    BulkCall,
    Classes,
    bulk_call_of,
    check_inferencer,
    check_retriever,
    try_bulk,
)
from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_harness.bulk.dataset import Rows, materialized, row_lists
from promptpress_harness.bulk.monkeypatches import (
    NotCoveredError,
    check_as_constructed,
    check_unpatched,
    class_with_code,
    same,
)
from promptpress_harness.bulk.rendering import accept_placeholders
from promptpress_harness.bulk.report import fall_back
from promptpress_harness.bulk.retriever import BulkRetriever, CachedRetriever
from promptpress_harness.bulk.switch import Patches, Switch
from promptpress_harness.registry import HARNESSES, loaded

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


TURNS_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_multiturn_inferencer"
TEMPLATE = "ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_multiturn"
_COLUMNS = ("question", "answer")
_BLOCK_ROWS = 512


def _encoded(template: Any) -> Any:
    """Return a template's turns as the harness lays them out, by a private method of the harness."""
    return methodcaller("_encode_template", template.template, ice=False)(template)


class Dialogues(CachedRetriever):
    """A retriever whose dialogues come from blocks of samples: each turn is rendered as a row, and turns are joined."""

    def __init__(self, retriever: Any, shots: Any) -> None:
        super().__init__(retriever, shots)
        check_retriever(AISBenchBulkCall.classes, retriever)
        template = retriever.prompt_template
        kind = class_with_code(type(template))
        if kind is not loaded(TEMPLATE, "MultiTurnPromptTemplate"):
            raise NotCoveredError(f"turns of {kind.__name__} aren't covered")
        check_as_constructed(template, template.template, template.ice_token, template.sep_token)
        if retriever.ice_template is not None or any(row_lists(shots, is_written=False)):
            raise NotCoveredError("turns with examples")
        self._rows = Rows(retriever.test_ds)
        for name in _COLUMNS:
            index = self._rows.schema.get_field_index(name)
            if index < 0 or not types.is_list(self._rows.schema.field(index).type):
                raise NotCoveredError(f"turns whose column {name!r} isn't a list")
        encoded = _encoded(template)
        start, end = get_round_index(encoded)
        self._before, self._after = encoded[:start], encoded[end:]
        self._kind = type(encoded)
        # The harness copies turns, whose class is mmengine's.
        self._kinds = [type(item) for item in encoded[start:end]]
        rounds = {"round": list(encoded[start:end])}
        self._renderer = silent(Renderer(rounds, output="prompt_list", mode="gen", dialect="aisbench"))
        self._start = -1
        self._dialogues: list[list[Any]] = []

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **others: Any) -> Any:
        """Return the dialogue of a sample."""
        start = idx - idx % _BLOCK_ROWS
        if start != self._start:
            self._start = start
            try:
                self._dialogues = self._block(start)
            except Exception as error:
                # One sample of the block can't be rendered; the harness raises its own exception there.
                fall_back(f"rendering failed ({error})")
                self._dialogues = []
        if not self._dialogues:
            return self.wrapped.generate_prompt_for_generate_task(idx, ice, **others)
        turns = [item.copy() if isinstance(item, dict) else item for item in self._dialogues[idx - start]]
        return self._kind([*self._before, *turns, *self._after])

    def _block(self, start: int) -> list[list[Any]]:
        table = self._rows.slice(start, start + _BLOCK_ROWS)
        questions, answers = (table[name].to_pylist() for name in _COLUMNS)
        # The harness's loop ends with the shorter list.
        counts = [min(map(len, lists)) for lists in zip(questions, answers, strict=True)]
        flat = {
            name: pa.array(
                [item for values, count in zip(column, counts, strict=True) for item in values[:count]],
                table.schema.field(name).type.value_type,
            )
            for name, column in zip(_COLUMNS, (questions, answers), strict=True)
        }
        requests: list[Any] = to_pylist(self._renderer.render(pa.table(flat))["prompt"])
        turns = iter([[kind(item) for kind, item in zip(self._kinds, turn, strict=True)] for turn in requests])
        return [list(chain.from_iterable(islice(turns, count))) for count in counts]


def bulk_turns(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap MultiTurnGenInferencer's `get_data_list`, so that dialogues are made in bulk if they are covered."""

    def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(self, retriever):
            return harness(self, _bulk_retriever(self, retriever), *rest, **others)

    return get_data_list


def _bulk_retriever(inferencer: Any, retriever: Any) -> Any:
    """Return a retriever whose dialogues come from blocks, or the harness's, with the reason in the log."""
    if type(inferencer) is not loaded(TURNS_INFERENCER, "MultiTurnGenInferencer"):
        fall_back(f"{type(inferencer).__name__} isn't covered")
        return retriever
    if not len(retriever.test_ds):
        return retriever
    shots = materialized(retriever.retrieve(), is_read_once=True)
    dialogues = try_bulk(lambda: _checked_dialogues(inferencer, retriever, shots), len(shots))
    return CachedRetriever(retriever, shots) if dialogues is None else dialogues


def _checked_dialogues(inferencer: Any, retriever: Any, shots: Any) -> Dialogues:
    """Return dialogues in bulk; raise NotCoveredError if the first isn't that of the harness."""
    check_inferencer(inferencer, "get_data_list")
    dialogues = Dialogues(retriever, shots)
    expected = retriever.generate_prompt_for_generate_task(0, "")
    if not same(dialogues.generate_prompt_for_generate_task(0, ""), expected):
        raise NotCoveredError("the harness's dialogue is another")
    return dialogues


GEN_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_gen_inferencer"
PPL_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.ppl_inferencer"
MODEL_METHODS = {"GenInferencer": (), "PPLInferencer": ("get_token_len_from_template",)}
"""The model's methods that get prompts from an inferencer, besides `parse_template`."""


def bulk_data(module: str, name: str, harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `get_data_list` of a module's class, so that its prompts are made in bulk if they are covered.

    Subclasses that inherit the method get the same list.
    """

    def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(self, retriever):
            shots = materialized(retriever.retrieve(), is_read_once=name == "GenInferencer")
            bulk_call = _data_of(self, retriever, shots, module, name)
            if bulk_call is None:
                return harness(self, CachedRetriever(retriever, shots), *rest, **others)
            token = getattr(self, "gen_field_replace_token", None)
            generation = bulk_call.generation(token) if isinstance(token, str) else None
            return harness(self, BulkRetriever(bulk_call, generation), *rest, **others)

    return get_data_list


def _data_of(inferencer: Any, retriever: Any, shots: Any, module: str, name: str) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does."""
    try:
        check_unpatched(module, f"{name}.get_data_list")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return None
    templates = (getattr(retriever, part, None) for part in ("ice_template", "prompt_template"))
    return bulk_call_of(AISBenchBulkCall, inferencer.model, MODEL_METHODS[name], retriever, shots, *templates)


_switch = Switch(
    HARNESSES["aisbench"],
    Patches(
        {
            GEN_INFERENCER: {"GenInferencer.get_data_list": partial(bulk_data, GEN_INFERENCER, "GenInferencer")},
            PPL_INFERENCER: {"PPLInferencer.get_data_list": partial(bulk_data, PPL_INFERENCER, "PPLInferencer")},
            TURNS_INFERENCER: {"MultiTurnGenInferencer.get_data_list": bulk_turns},
            MODEL: {"LMTemplateParser.parse_template": accept_placeholders},
            API_MODEL: {"APITemplateParser.parse_template": accept_placeholders},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
