"""The calls of the inferencers that generate or compare labels, and their bulk prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from promptpress_harness.bulk.bulk_call import BulkCall, Classes, bulk_call_of, check_inferencer
from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_harness.bulk.dataset import materialized
from promptpress_harness.bulk.expansions import ExpandingCallRenderer
from promptpress_harness.bulk.monkeypatches import NotCoveredError
from promptpress_harness.bulk.prompts import Prompts
from promptpress_harness.bulk.report import fall_back
from promptpress_harness.bulk.retriever import BulkRetriever, CachedRetriever
from promptpress_harness.opencompass.recorded_calls import recorded
from promptpress_harness.single.harness import loaded

MODEL = "opencompass.models.base"
API_MODEL = "opencompass.models.base_api"
GEN_INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer"
PARALLEL_GEN_INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer_parallel"
METHOD = "get_generation_prompt_list_from_retriever_indices"
PPL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ppl_inferencer"
LL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ll_inferencer"
CLP_INFERENCER = "opencompass.openicl.icl_inferencer.icl_clp_inferencer"

_MODEL_METHODS = ("get_token_len_from_template", "get_ppl_from_template")
_MAX_CACHED_TEXTS = 1024


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


class Counter:
    """A stand-in for a model that counts tokens only of prompts that can have more than `limit`.

    OpenCompass's counter for APIs counts words of letters and digits, and single Chinese characters, so never more
    tokens than characters. Any other counter counts the tokens of every prompt.
    """

    def __init__(self, model: Any, limit: int) -> None:
        self._model = model
        base = loaded(API_MODEL, "BaseAPIModel")
        counts_words = base is not None and getattr(type(model), "get_token_len", None) is base.get_token_len
        self._limit = limit if counts_words and "get_token_len" not in vars(model) else -1

    def get_token_len_from_template(self, prompt: Any, mode: str) -> Any:
        """Return the number of tokens; 0 if it can't exceed the limit."""
        if self._limit >= 0:
            parsed = self._model.parse_template(prompt, mode=mode)
            if len(str(parsed)) <= self._limit:
                return 0
        return self._model.get_token_len_from_template(prompt, mode=mode)


def generation_of(
    inferencer: Any, retriever: Any, shots: Any, *templates: Any, token: Any, max_seq_len: int | None
) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does.

    `token` stands for the output column, and `max_seq_len` is the most tokens of a prompt, or None.
    """
    try:
        if not is_generating(inferencer):
            raise NotCoveredError(f"{type(inferencer).__name__} isn't covered")
        check_inferencer(inferencer, "inference", METHOD, "get_dataloader")
        if inferencer.multiround or not isinstance(token, str):
            raise NotCoveredError("prompts of several rounds, or a gen_field_replace_token that is no string")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return None
    counting = () if max_seq_len is None else ("get_token_len_from_template",)
    model_methods = ("generate_from_template", *counting)
    bulk_call = bulk_call_of(OpenCompassBulkCall, inferencer.model, model_methods, retriever, shots, *templates)
    if bulk_call is not None:
        bulk_call.renderer.is_shared = type(inferencer) is loaded(PARALLEL_GEN_INFERENCER, "ParallelGenInferencer")
    return bulk_call


def is_generating(inferencer: Any) -> bool:
    """Return true if an inferencer is one of the harness's that generate, and no subclass."""
    classes = loaded(GEN_INFERENCER, "GenInferencer"), loaded(PARALLEL_GEN_INFERENCER, "ParallelGenInferencer")
    return type(inferencer) in classes


def bulk_prompts(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap GenInferencer's method that lists prompts, so that they are made in bulk if they are covered."""

    def get_generation_prompt_list_from_retriever_indices(  # noqa: PLR0917 - as the harness has it
        self: Any,
        ice_idx_list: list[Sequence[int]],
        retriever: Any,
        gen_field_replace_token: str,
        max_seq_len: int | None = None,
        ice_template: Any = None,
        prompt_template: Any = None,
    ) -> Any:
        shots = materialized(ice_idx_list, is_read_once=True) if is_generating(self) else ice_idx_list
        token = gen_field_replace_token
        templates = {"ice_template": ice_template, "prompt_template": prompt_template}
        settings: dict[str, Any] = {"max_seq_len": max_seq_len, **templates}
        bulk_call = generation_of(self, retriever, shots, *templates.values(), token=token, max_seq_len=max_seq_len)
        if bulk_call is None:
            return harness(self, shots, retriever, token, **settings)
        source = bulk_call.generation(token)
        row_lists = bulk_call.renderer.shots
        if max_seq_len is not None and any(row_lists):
            # The loop uses nothing of the inferencer but its model.
            counter = SimpleNamespace(model=Counter(self.model, max_seq_len))
            return harness(counter, row_lists, BulkRetriever(bulk_call, source), token, **settings)
        if max_seq_len is None:
            source.build_each_length()
        else:
            # There are no examples to leave out. The first prompt is counted, because a model may be unable to count.
            self.model.get_token_len_from_template(source.prompt(0), mode="gen")
            # The harness parses all prompts here; only messages of the data can make its parser fail at a later row.
            for row in range(1, len(row_lists)) if bulk_call.expands else ():
                self.model.parse_template(source.prompt(row), mode="gen")
        return Prompts(source.prompt, range(len(row_lists)))

    return get_generation_prompt_list_from_retriever_indices


def bulk_labels(module: str, name: str, harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `inference` of a module's class, so that its prompts are made in bulk if they are covered."""
    is_clp = name == "CLPInferencer"

    def inference(
        self: Any, retriever: Any, ice_template: Any = None, prompt_template: Any = None, *rest: Any, **others: Any
    ) -> Any:
        is_normalized = not is_clp and (others.get("normalizing_str") is not None or len(rest) > 2)
        if is_covered(self, module, name, is_normalized=is_normalized) and not (is_clp and self.model.is_api):
            cached = CachedRetriever(retriever, retriever.retrieve())
            call_of = choices_of if is_clp else labels_of
            bulk_call = call_of(self, retriever, cached.shots, ice_template, prompt_template)
            bulk_class = ClpRetriever if is_clp else BulkRetriever
            retriever = cached if bulk_call is None else bulk_class(bulk_call)
        return harness(self, retriever, ice_template, prompt_template, *rest, **others)

    return recorded(inference)


def is_covered(inferencer: Any, module: str, name: str, *, is_normalized: bool = False) -> bool:
    """Return true if an inferencer's prompts are covered; otherwise the reason is logged."""
    try:
        if type(inferencer) is not loaded(module, name):
            raise NotCoveredError(f"{type(inferencer).__name__} isn't covered")
        if is_normalized:
            raise NotCoveredError("normalizing_str takes prompts apart")
        check_inferencer(inferencer, "inference")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return False
    return True


def labels_of(
    inferencer: Any, retriever: Any, shots: Any, *templates: Any, model_methods: Sequence[str] = _MODEL_METHODS
) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does."""
    parts = (inferencer.model, model_methods, retriever, shots, *templates)
    return bulk_call_of(OpenCompassBulkCall, *parts, is_written=inferencer.max_seq_len is not None)


choices_of = partial(labels_of, model_methods=())
"""Returns CLPInferencer's call in bulk: it hands prompts to no other method of the model than `parse_template`."""


class ClpRetriever(BulkRetriever):
    """A retriever for CLPInferencer's loop, which cuts examples out of parsed prompts and doesn't parse these again."""

    def __init__(self, bulk_call: BulkCall) -> None:
        super().__init__(bulk_call, bulk_call.generation(""))
        self._last_row = -1
        self._texts: dict[Any, str] = {}

    def generate_ice(self, idx_list: Sequence[int], **_: Any) -> Any:
        """Return the examples of a sample as they are: they are saved, and searched for in the prompt."""
        key = tuple(idx_list)
        if key in self._texts:
            return self._texts[key]
        examples = self._bulk_call.ice(idx_list)
        if isinstance(examples, str) and len(self._texts) < _MAX_CACHED_TEXTS:
            self._texts[key] = examples
        return examples

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **_: Any) -> Any:  # noqa: ARG002 - `shots` has them
        """Return the prompt of a sample: a placeholder at first, and the harness's object after it was shortened."""
        rows = self._bulk_call.renderer.shots[idx]
        prompt = super().generate_prompt_for_generate_task(idx, super().generate_ice(rows))
        if idx > self._last_row:
            self._last_row = idx
            return prompt
        # The harness doesn't parse a shortened prompt.
        source = prompt.source
        return source.text(prompt) if source.shape is str else prompt.build()
