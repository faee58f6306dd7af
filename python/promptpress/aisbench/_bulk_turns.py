"""MultiTurnGenInferencer's dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress._backend.bulk_call import check_inferencer, check_retriever, loaded
from promptpress._backend.dataset import Rows
from promptpress._backend.monkeypatches import (
    NotCoveredError,
    check_attributes,
    check_no_shadows,
    check_unpatched_class,
)
from promptpress._backend.objects import same
from promptpress._backend.report import current_record, fall_back
from promptpress._backend.retrieved_rows import materialized, row_lists
from promptpress._backend.retriever import CachedRetriever
from promptpress._notes import silent
from promptpress._renderer import Renderer
from promptpress._to_pylist import to_pylist
from promptpress.aisbench._bulk_call import AISBenchBulkCall, record_call
from promptpress.aisbench._prompt_list import get_round_index

INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_multiturn_inferencer"
TEMPLATE = "ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_multiturn"
_COLUMNS = ("question", "answer")
_BLOCK_ROWS = 512


class Dialogues(CachedRetriever):
    """A retriever whose dialogues come out of blocks of samples: a row for each turn is rendered, and turns are joined.

    Args:
        retriever: The harness's retriever.
        shots: What it chose.

    Raises:
        NotCoveredError: For other templates, for examples, and for columns that aren't lists.
    """

    def __init__(self, retriever: Any, shots: Any) -> None:
        super().__init__(retriever, shots)
        check_retriever(AISBenchBulkCall.classes, retriever)
        template = retriever.prompt_template
        kind = type(template)
        if kind is not loaded(TEMPLATE, "MultiTurnPromptTemplate"):
            raise NotCoveredError(f"turns of {kind.__name__} aren't covered")
        check_unpatched_class(kind)
        check_no_shadows(template)
        check_attributes(template, lambda: kind(template.template, template.ice_token, template.sep_token), same)
        if retriever.ice_template is not None or any(row_lists(shots, is_written=False)):
            raise NotCoveredError("turns with examples")
        self._rows = Rows(retriever.test_ds)
        for name in _COLUMNS:
            at = self._rows.schema.get_field_index(name)
            if at < 0 or not types.is_list(self._rows.schema.field(at).type):
                raise NotCoveredError(f"turns whose column {name!r} isn't a list")
        encoded = template._encode_template(template.template, ice=False)
        start, end = get_round_index(encoded)
        self._before, self._after = encoded[:start], encoded[end:]
        self._kind = type(encoded)
        # The harness copies turns, and a running harness has them of a class of its own.
        self._kinds = [type(item) for item in encoded[start:end]]
        rounds = {"round": list(encoded[start:end])}
        self._renderer = silent(Renderer(rounds, output="prompt_list", mode="gen", dialect="aisbench"))
        self._start = -1
        self._dialogues: list[list[Any]] = []

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **others: Any) -> Any:
        """The dialogue of a sample."""
        start = idx - idx % _BLOCK_ROWS
        if start != self._start:
            self._start = start
            try:
                self._dialogues = self._block(start)
            except Exception as error:
                # One sample of the block can't be rendered; the harness raises its own exception when it comes to it.
                fall_back(f"rendering failed ({error})")
                self._dialogues = []
        if not self._dialogues:
            return self.wrapped.generate_prompt_for_generate_task(idx, ice, **others)
        turns = [item.copy() if isinstance(item, dict) else item for item in self._dialogues[idx - start]]
        return self._kind([*self._before, *turns, *self._after])

    def _block(self, start: int) -> list[list[Any]]:
        table = self._rows.slice(start, min(start + _BLOCK_ROWS, self._rows.count))
        questions, answers = (table[name].to_pylist() for name in _COLUMNS)
        # The harness's loop ends with the shorter of the two.
        counts = [min(len(one), len(other)) for one, other in zip(questions, answers, strict=True)]
        flat = {
            name: pa.array(
                [item for values, count in zip(column, counts, strict=True) for item in values[:count]],
                table.schema.field(name).type.value_type,
            )
            for name, column in zip(_COLUMNS, (questions, answers), strict=True)
        }
        requests: list[Any] = to_pylist(self._renderer.render(pa.table(flat))["prompt"])
        turns = map(self._of_harness_kinds, requests)
        return [[item for _ in range(count) for item in next(turns)] for count in counts]

    def _of_harness_kinds(self, turn: list[Any]) -> list[Any]:
        return [kind(item) for kind, item in zip(self._kinds, turn, strict=True)]


def bulk_turns(harness: Callable[..., Any]) -> Callable[..., Any]:
    """MultiTurnGenInferencer's `get_data_list`, in bulk where it is covered."""

    def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(self, retriever):
            return harness(self, in_turns(self, retriever), *rest, **others)

    return get_data_list


def in_turns(inferencer: Any, retriever: Any) -> Any:
    """A retriever whose dialogues come out of blocks; after a word in the log the harness's, if that isn't covered."""
    if type(inferencer) is not loaded(INFERENCER, "MultiTurnGenInferencer"):
        fall_back(f"{type(inferencer).__name__} isn't covered")
        return retriever
    if not len(retriever.test_ds):
        return retriever
    shots = materialized(retriever.retrieve(), is_read_once=True)
    try:
        check_inferencer(inferencer, "get_data_list")
        dialogues = Dialogues(retriever, shots)
        expected = retriever.generate_prompt_for_generate_task(0, "")
        if not same(dialogues.generate_prompt_for_generate_task(0, ""), expected):
            raise NotCoveredError("the harness's dialogue is another")
    except NotCoveredError as reason:
        fall_back(str(reason))
    except Exception as error:
        fall_back(f"rendering failed ({error})")
    else:
        current_record().rendered(len(shots))
        return dialogues
    return CachedRetriever(retriever, shots)
