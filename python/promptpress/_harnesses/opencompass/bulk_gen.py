"""The bulk prompts of GenInferencer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from promptpress._harnesses.bulk.bulk_call import BulkCall, bulk_call_of, check_inferencer
from promptpress._harnesses.bulk.monkeypatches import NotCoveredError
from promptpress._harnesses.bulk.prompts import Prompts
from promptpress._harnesses.bulk.report import fall_back
from promptpress._harnesses.bulk.retrieved_rows import materialized
from promptpress._harnesses.bulk.retriever import BulkRetriever
from promptpress._harnesses.opencompass.bulk_call import API_MODEL, OpenCompassBulkCall
from promptpress._harnesses.single.harness import loaded

INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer"
PARALLEL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer_parallel"
METHOD = "get_generation_prompt_list_from_retriever_indices"


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
    inferencer: Any,
    retriever: Any,
    shots: Any,
    ice_template: Any,
    prompt_template: Any,
    *,
    token: Any,
    max_seq_len: int | None,
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
    bulk_call = bulk_call_of(
        OpenCompassBulkCall, inferencer.model, model_methods, retriever, shots, ice_template, prompt_template
    )
    if bulk_call is not None:
        bulk_call.renderer.is_shared = type(inferencer) is loaded(PARALLEL_INFERENCER, "ParallelGenInferencer")
    return bulk_call


def is_generating(inferencer: Any) -> bool:
    """Return true if an inferencer is one of the harness's that generate, and no subclass."""
    classes = loaded(INFERENCER, "GenInferencer"), loaded(PARALLEL_INFERENCER, "ParallelGenInferencer")
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
        bulk_call = generation_of(self, retriever, shots, token=token, **settings)
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
