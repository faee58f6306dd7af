"""GenInferencer's prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from promptpress._backend.log import fall_back
from promptpress._backend.prompts import Prompts
from promptpress._backend.retriever import BulkRetriever
from promptpress._backend.run import loaded, run_of
from promptpress.opencompass.bulk_course import API_MODEL, OpenCompassRun

INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer"


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
        def by_harness(retriever: Any, inferencer: Any = self) -> Any:
            return harness(
                inferencer,
                ice_idx_list,
                retriever,
                gen_field_replace_token,
                max_seq_len=max_seq_len,
                ice_template=ice_template,
                prompt_template=prompt_template,
            )

        if type(self) is not loaded(INFERENCER, "GenInferencer"):
            fall_back(f"{type(self).__name__} isn't covered")
            return by_harness(retriever)
        if self.multiround or not isinstance(gen_field_replace_token, str):
            fall_back("prompts of several rounds, or a gen_field_replace_token that is no string")
            return by_harness(retriever)
        counting = () if max_seq_len is None else ("get_token_len_from_template",)
        asked = ("generate_from_template", *counting)
        run = run_of(OpenCompassRun, self.model, asked, retriever, ice_idx_list, ice_template, prompt_template)
        if run is None:
            return by_harness(retriever)
        source = run.generation(gen_field_replace_token)
        if max_seq_len is None:
            return Prompts(source.prompt, range(len(ice_idx_list)))
        if not any(ice_idx_list):
            # There is nothing to leave out. The first is counted, for a model that can't count says so.
            self.model.get_token_len_from_template(source.prompt(0), mode="gen")
            return Prompts(source.prompt, range(len(ice_idx_list)))
        # The loop looks at nothing of the inferencer but its model.
        counter = SimpleNamespace(model=Counter(self.model, max_seq_len))
        return by_harness(BulkRetriever(run, source), counter)

    return get_generation_prompt_list_from_retriever_indices
