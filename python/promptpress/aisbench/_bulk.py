"""AISBench's prompt stage in bulk: on and off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpress._backend.bulk_call import BulkCall, bulk_call_of
from promptpress._backend.monkeypatches import NotCoveredError, check_unpatched
from promptpress._backend.parsers import knowing_prompts
from promptpress._backend.patches import Patches
from promptpress._backend.report import fall_back
from promptpress._backend.retrieved_rows import materialized
from promptpress._backend.retriever import BulkRetriever, CachedRetriever
from promptpress._backend.switch import Switch
from promptpress.aisbench._bulk_call import API_MODEL, MODEL, AISBenchBulkCall, record_call
from promptpress.aisbench._bulk_turns import INFERENCER as TURNS_INFERENCER
from promptpress.aisbench._bulk_turns import bulk_turns

GEN_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_gen_inferencer"
PPL_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.ppl_inferencer"
MODEL_METHODS = {"GenInferencer": (), "PPLInferencer": ("get_token_len_from_template",)}
"""The methods of the model that an inferencer hands prompts to, beside `parse_template`."""


def bulk_data(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What wraps a `get_data_list`. Subclasses that have it get the same list, whatever they do with it.

    Args:
        name: The class that has it.
    """

    def wrap(harness: Callable[..., Any]) -> Callable[..., Any]:
        def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
            with record_call(self, retriever):
                shots = materialized(retriever.retrieve(), is_read_once=name == "GenInferencer")
                bulk_call = data_of(self, retriever, shots, name)
                if bulk_call is None:
                    return harness(self, CachedRetriever(retriever, shots), *rest, **others)
                token = getattr(self, "gen_field_replace_token", None)
                generation = bulk_call.generation(token) if isinstance(token, str) else None
                return harness(self, BulkRetriever(bulk_call, generation), *rest, **others)

        return get_data_list

    return wrap


def data_of(inferencer: Any, retriever: Any, shots: Any, name: str) -> BulkCall | None:
    """What bulk rendering needs for a list of data; None, after a word in the log, if it isn't covered."""
    try:
        check_unpatched(
            {"GenInferencer": GEN_INFERENCER, "PPLInferencer": PPL_INFERENCER}[name], f"{name}.get_data_list"
        )
    except NotCoveredError as reason:
        fall_back(str(reason))
        return None
    templates = (getattr(retriever, part, None) for part in ("ice_template", "prompt_template"))
    return bulk_call_of(AISBenchBulkCall, inferencer.model, MODEL_METHODS[name], retriever, shots, *templates)


_switch = Switch(
    "AISBench",
    "ais_bench",
    Patches(
        {
            GEN_INFERENCER: {"GenInferencer.get_data_list": bulk_data("GenInferencer")},
            PPL_INFERENCER: {"PPLInferencer.get_data_list": bulk_data("PPLInferencer")},
            TURNS_INFERENCER: {"MultiTurnGenInferencer.get_data_list": bulk_turns},
            MODEL: {"LMTemplateParser.parse_template": knowing_prompts},
            API_MODEL: {"APITemplateParser.parse_template": knowing_prompts},
        }
    ),
    has_lines=False,
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
