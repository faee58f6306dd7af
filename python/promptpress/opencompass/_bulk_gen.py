"""GenInferencer's prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from promptpress._backend.bulk_call import BulkCall, bulk_call_of, check_inferencer, loaded
from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._backend.prompts import Prompts
from promptpress._backend.report import fall_back
from promptpress._backend.retrieved_rows import materialized
from promptpress._backend.retriever import BulkRetriever
from promptpress.opencompass._bulk_call import API_MODEL, OpenCompassBulkCall

INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer"
PARALLEL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer_parallel"
METHOD = "get_generation_prompt_list_from_retriever_indices"


class Counter:
    """A model that counts the tokens of what can be too long, and of nothing else.

    OpenCompass's own counter for APIs counts words of letters and digits, and single Chinese characters: never more
    than there are characters. Of other counters nothing is known; they count everything.

    Args:
        model: The harness's model.
        most: How many tokens are not too many.
    """

    def __init__(self, model: Any, most: int) -> None:
        self._model = model
        base = loaded(API_MODEL, "BaseAPIModel")
        is_own = base is not None and getattr(type(model), "get_token_len", None) is base.get_token_len
        self._most = most if is_own and "get_token_len" not in vars(model) else -1

    def get_token_len_from_template(self, prompt: Any, mode: str) -> Any:
        """The number of tokens; 0 if there can't be too many."""
        if self._most >= 0:
            parsed = self._model.parse_template(prompt, mode=mode)
            if len(str(parsed)) <= self._most:
                return 0
        return self._model.get_token_len_from_template(prompt, mode=mode)


def generation_of(
    inferencer: Any,
    retriever: Any,
    shots: Any,
    ice_template: Any,
    prompt_template: Any,
    *,
    token: Any,
    counts: int | None,
) -> BulkCall | None:
    """What bulk rendering needs for a call of an inferencer that generates; None, after a word in the log, without it.

    Args:
        inferencer: The harness's inferencer.
        retriever: The harness's retriever.
        shots: What it chose.
        ice_template: The harness's template of examples, or None.
        prompt_template: The harness's template of prompts, or None.
        token: What stands for the output column.
        counts: How many tokens a prompt may have, if it matters.
    """
    counting = () if counts is None else ("get_token_len_from_template",)
    try:
        if not is_generating(inferencer):
            raise NotCoveredError(f"{type(inferencer).__name__} isn't covered")
        check_inferencer(inferencer, "inference", METHOD, "get_dataloader")
        if inferencer.multiround or not isinstance(token, str):
            raise NotCoveredError("prompts of several rounds, or a gen_field_replace_token that is no string")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return None
    model_methods = ("generate_from_template", *counting)
    bulk_call = bulk_call_of(
        OpenCompassBulkCall, inferencer.model, model_methods, retriever, shots, ice_template, prompt_template
    )
    if bulk_call is not None:
        bulk_call.renderer.is_shared = type(inferencer) is loaded(PARALLEL_INFERENCER, "ParallelGenInferencer")
    return bulk_call


def is_generating(inferencer: Any) -> bool:
    """Whether an inferencer is one of the harness's that generate, not a subclass of it."""
    known = loaded(INFERENCER, "GenInferencer"), loaded(PARALLEL_INFERENCER, "ParallelGenInferencer")
    return type(inferencer) in known


def bulk_prompts(harness: Callable[..., Any]) -> Callable[..., Any]:
    """GenInferencer's `get_generation_prompt_list_from_retriever_indices`, in bulk where it is covered."""

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

        def by_harness(retriever: Any, shots: Any = shots, inferencer: Any = self) -> Any:
            return harness(
                inferencer,
                shots,
                retriever,
                gen_field_replace_token,
                max_seq_len=max_seq_len,
                ice_template=ice_template,
                prompt_template=prompt_template,
            )

        bulk_call = generation_of(
            self, retriever, shots, ice_template, prompt_template, token=gen_field_replace_token, counts=max_seq_len
        )
        if bulk_call is None:
            return by_harness(retriever)
        source = bulk_call.generation(gen_field_replace_token)
        chosen = bulk_call.renderer.shots
        if max_seq_len is None:
            source.build_each_length()
            return Prompts(source.prompt, range(len(chosen)))
        if not any(chosen):
            # There is nothing to leave out. The first is counted, for a model that can't count says so.
            self.model.get_token_len_from_template(source.prompt(0), mode="gen")
            # The harness parses all prompts here; only messages of the data can make its parser fail at a later row.
            for row in range(1, len(chosen)) if bulk_call.expands else ():
                self.model.parse_template(source.prompt(row), mode="gen")
            return Prompts(source.prompt, range(len(chosen)))
        # The loop looks at nothing of the inferencer but its model.
        counter = SimpleNamespace(model=Counter(self.model, max_seq_len))
        return by_harness(BulkRetriever(bulk_call, source), chosen, counter)

    return get_generation_prompt_list_from_retriever_indices
