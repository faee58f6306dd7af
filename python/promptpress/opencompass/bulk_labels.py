"""The inferencers that score labels, PPLInferencer and LLInferencer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpress._backend.log import fall_back
from promptpress._backend.retriever import BulkRetriever, Chosen
from promptpress._backend.run import loaded, run_of
from promptpress.opencompass.bulk_course import OpenCompassRun

PPL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ppl_inferencer"
LL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ll_inferencer"

_ASKED = ("get_token_len_from_template", "get_ppl_from_template")


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
            if type(self) is not loaded(module, name):
                fall_back(f"{type(self).__name__} isn't covered")
            elif rest or others.get("normalizing_str") is not None:
                fall_back("normalizing_str takes prompts apart")
            else:
                chosen = Chosen(retriever)
                run = run_of(OpenCompassRun, self.model, _ASKED, retriever, chosen.shots, ice_template, prompt_template)
                retriever = chosen if run is None else BulkRetriever(run)
            return harness(self, retriever, ice_template, prompt_template, *rest, **others)

        return inference

    return wrap
