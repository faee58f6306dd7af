"""The bulk prompts of the inferencers that compare labels: PPLInferencer, LLInferencer and CLPInferencer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from promptpress._harnesses.bulk.bulk_call import BulkCall, bulk_call_of, check_inferencer
from promptpress._harnesses.bulk.monkeypatches import NotCoveredError
from promptpress._harnesses.bulk.report import fall_back
from promptpress._harnesses.bulk.retriever import BulkRetriever, CachedRetriever
from promptpress._harnesses.opencompass.bulk_call import OpenCompassBulkCall
from promptpress._harnesses.opencompass.recorded_calls import recorded
from promptpress._harnesses.single.harness import loaded

PPL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ppl_inferencer"
LL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ll_inferencer"
CLP_INFERENCER = "opencompass.openicl.icl_inferencer.icl_clp_inferencer"

_MODEL_METHODS = ("get_token_len_from_template", "get_ppl_from_template")
_MAX_CACHED_TEXTS = 1024


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


def labels_of(  # noqa: PLR0917 - a call, as the harness makes it
    inferencer: Any,
    retriever: Any,
    shots: Any,
    ice_template: Any,
    prompt_template: Any,
    model_methods: Sequence[str] = _MODEL_METHODS,
) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does."""
    parts = (inferencer.model, model_methods, retriever, shots, ice_template, prompt_template)
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
