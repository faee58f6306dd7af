"""AISBench's prompt stage in bulk: on and off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpress._backend.parsers import knowing_prompts
from promptpress._backend.patches import Patches
from promptpress._backend.retriever import BulkRetriever, Chosen
from promptpress._backend.run import run_of
from promptpress._backend.switch import Switch
from promptpress.aisbench.bulk_course import API_MODEL, MODEL, AISBenchRun
from promptpress.aisbench.bulk_turns import INFERENCER as TURNS_INFERENCER
from promptpress.aisbench.bulk_turns import bulk_turns

GEN_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_gen_inferencer"
PPL_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.ppl_inferencer"


def bulk_data(asked: tuple[str, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What wraps a `get_data_list`. Subclasses that have it get the same list, whatever they do with it.

    Args:
        asked: The methods of the model that it hands prompts to, beside `parse_template`.
    """

    def wrap(harness: Callable[..., Any]) -> Callable[..., Any]:
        def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
            chosen = Chosen(retriever)
            templates = (getattr(retriever, part, None) for part in ("ice_template", "prompt_template"))
            run = run_of(AISBenchRun, self.model, asked, retriever, chosen.shots, *templates)
            if run is None:
                return harness(self, chosen, *rest, **others)
            token = getattr(self, "gen_field_replace_token", None)
            generation = run.generation(token) if isinstance(token, str) else None
            return harness(self, BulkRetriever(run, generation), *rest, **others)

        return get_data_list

    return wrap


_switch = Switch(
    "AISBench",
    "ais_bench",
    Patches(
        {
            GEN_INFERENCER: {"GenInferencer.get_data_list": bulk_data(())},
            PPL_INFERENCER: {"PPLInferencer.get_data_list": bulk_data(("get_token_len_from_template",))},
            TURNS_INFERENCER: {"MultiTurnGenInferencer.get_data_list": bulk_turns},
            MODEL: {"LMTemplateParser.parse_template": knowing_prompts},
            API_MODEL: {"APITemplateParser.parse_template": knowing_prompts},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
