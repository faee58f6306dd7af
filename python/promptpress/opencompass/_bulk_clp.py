"""CLPInferencer's prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptpress._backend.bulk_call import BulkCall
from promptpress._backend.retriever import BulkRetriever, CachedRetriever
from promptpress.opencompass._bulk_labels import is_covered, labels_of

INFERENCER = "opencompass.openicl.icl_inferencer.icl_clp_inferencer"
_MAX_CACHED_TEXTS = 1024


class ClpRetriever(BulkRetriever):
    """A retriever of a loop that takes examples out of parsed prompts, and doesn't parse what it has shortened."""

    def __init__(self, bulk_call: BulkCall) -> None:
        super().__init__(bulk_call, bulk_call.generation(""))
        self._reached = -1
        self._texts: dict[Any, str] = {}

    def generate_ice(self, idx_list: Sequence[int], **_: Any) -> Any:
        """The examples of a sample, as they are: they are saved, and looked for in the prompt."""
        key = tuple(idx_list)
        found = self._texts.get(key)
        if found is None:
            found = self._bulk_call.ice(idx_list)
            if isinstance(found, str) and len(self._texts) < _MAX_CACHED_TEXTS:
                self._texts[key] = found
        return found

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **_: Any) -> Any:  # noqa: ARG002 - the choice says it
        """The prompt of a sample: to be parsed at first, as it is once it has been shortened."""
        rows = self._bulk_call.renderer.shots[idx]
        prompt = super().generate_prompt_for_generate_task(idx, super().generate_ice(rows))
        if idx > self._reached:
            self._reached = idx
            return prompt
        # What it has shortened the harness doesn't hand to the parser.
        source = prompt.source
        return source.text(prompt) if source.shape is str else prompt.build()


def bulk_choices(harness: Callable[..., Any]) -> Callable[..., Any]:
    """CLPInferencer's `inference`, in bulk where it is covered."""

    def inference(
        self: Any, retriever: Any, ice_template: Any = None, prompt_template: Any = None, *rest: Any, **others: Any
    ) -> Any:
        if is_covered(self, INFERENCER, "CLPInferencer", is_normalized=False) and not self.model.is_api:
            chosen = CachedRetriever(retriever, retriever.retrieve())
            bulk_call = choices_of(self, retriever, chosen.shots, ice_template, prompt_template)
            retriever = chosen if bulk_call is None else ClpRetriever(bulk_call)
        return harness(self, retriever, ice_template, prompt_template, *rest, **others)

    return inference


def choices_of(inferencer: Any, retriever: Any, shots: Any, ice_template: Any, prompt_template: Any) -> BulkCall | None:
    """What bulk rendering needs for a call of an inferencer of choices; None, after a word in the log, without it."""
    return labels_of(inferencer, retriever, shots, ice_template, prompt_template, model_methods=())
