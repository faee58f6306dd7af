"""The switch of AISBench's bulk backend: the methods of the harness that it replaces."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from promptpress_harness.aisbench.bulk_call import API_MODEL, MODEL, AISBenchBulkCall, record_call
from promptpress_harness.aisbench.bulk_turns import INFERENCER as TURNS_INFERENCER
from promptpress_harness.aisbench.bulk_turns import bulk_turns
from promptpress_harness.bulk.bulk_call import BulkCall, bulk_call_of
from promptpress_harness.bulk.dataset import materialized
from promptpress_harness.bulk.monkeypatches import NotCoveredError, check_unpatched
from promptpress_harness.bulk.patches import Patches
from promptpress_harness.bulk.prompts import accept_placeholders
from promptpress_harness.bulk.report import fall_back
from promptpress_harness.bulk.retriever import BulkRetriever, CachedRetriever
from promptpress_harness.bulk.switch import Switch
from promptpress_harness.registry import HARNESSES

GEN_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_gen_inferencer"
PPL_INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.ppl_inferencer"
MODEL_METHODS = {"GenInferencer": (), "PPLInferencer": ("get_token_len_from_template",)}
"""The model's methods that get prompts from an inferencer, besides `parse_template`."""


def bulk_data(module: str, name: str, harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `get_data_list` of a module's class, so that its prompts are made in bulk if they are covered.

    Subclasses that inherit the method get the same list.
    """

    def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(self, retriever):
            shots = materialized(retriever.retrieve(), is_read_once=name == "GenInferencer")
            bulk_call = _data_of(self, retriever, shots, module, name)
            if bulk_call is None:
                return harness(self, CachedRetriever(retriever, shots), *rest, **others)
            token = getattr(self, "gen_field_replace_token", None)
            generation = bulk_call.generation(token) if isinstance(token, str) else None
            return harness(self, BulkRetriever(bulk_call, generation), *rest, **others)

    return get_data_list


def _data_of(inferencer: Any, retriever: Any, shots: Any, module: str, name: str) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does."""
    try:
        check_unpatched(module, f"{name}.get_data_list")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return None
    templates = (getattr(retriever, part, None) for part in ("ice_template", "prompt_template"))
    return bulk_call_of(AISBenchBulkCall, inferencer.model, MODEL_METHODS[name], retriever, shots, *templates)


_switch = Switch(
    HARNESSES["aisbench"],
    Patches(
        {
            GEN_INFERENCER: {"GenInferencer.get_data_list": partial(bulk_data, GEN_INFERENCER, "GenInferencer")},
            PPL_INFERENCER: {"PPLInferencer.get_data_list": partial(bulk_data, PPL_INFERENCER, "PPLInferencer")},
            TURNS_INFERENCER: {"MultiTurnGenInferencer.get_data_list": bulk_turns},
            MODEL: {"LMTemplateParser.parse_template": accept_placeholders},
            API_MODEL: {"APITemplateParser.parse_template": accept_placeholders},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
