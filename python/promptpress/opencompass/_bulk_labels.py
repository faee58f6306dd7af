"""The inferencers that score labels, PPLInferencer and LLInferencer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptpress._backend.bulk_call import BulkCall, bulk_call_of, check_inferencer, loaded
from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._backend.report import fall_back
from promptpress._backend.retriever import BulkRetriever, CachedRetriever
from promptpress.opencompass._bulk_call import OpenCompassBulkCall

PPL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ppl_inferencer"
LL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ll_inferencer"

_MODEL_METHODS = ("get_token_len_from_template", "get_ppl_from_template")


def bulk_labels(module: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What wraps the `inference` of a class.

    Args:
        module: Where it is.
        name: Its name.
    """

    def wrap(harness: Callable[..., Any]) -> Callable[..., Any]:
        def inference(
            self: Any, retriever: Any, ice_template: Any = None, prompt_template: Any = None, *rest: Any, **others: Any
        ) -> Any:
            is_normalized = others.get("normalizing_str") is not None or len(rest) > 2
            if is_covered(self, module, name, is_normalized=is_normalized):
                chosen = CachedRetriever(retriever, retriever.retrieve())
                bulk_call = labels_of(self, retriever, chosen.shots, ice_template, prompt_template)
                retriever = chosen if bulk_call is None else BulkRetriever(bulk_call)
            return harness(self, retriever, ice_template, prompt_template, *rest, **others)

        return inference

    return wrap


def is_covered(inferencer: Any, module: str, name: str, *, is_normalized: bool) -> bool:
    """Whether an inferencer is one of a class, and nothing else than it is asked for; a word in the log if not."""
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
    """What bulk rendering needs for a call of an inferencer of labels; None, after a word in the log, without it."""
    return bulk_call_of(
        OpenCompassBulkCall,
        inferencer.model,
        model_methods,
        retriever,
        shots,
        ice_template,
        prompt_template,
        is_written=inferencer.max_seq_len is not None,
    )
