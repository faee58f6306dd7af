"""The bulk dialogues of MultiTurnGenInferencer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice
from operator import methodcaller
from typing import Any

import pyarrow as pa
from promptpress import Renderer, to_pylist
from promptpress.engine import silent
from pyarrow import types

from promptpress_harness.aisbench.bulk_call import AISBenchBulkCall, record_call
from promptpress_harness.aisbench.prompt_list import get_round_index
from promptpress_harness.bulk.bulk_call import check_inferencer, check_retriever, try_bulk
from promptpress_harness.bulk.dataset import Rows, materialized, row_lists
from promptpress_harness.bulk.monkeypatches import NotCoveredError, check_as_constructed, class_with_code
from promptpress_harness.bulk.objects import same
from promptpress_harness.bulk.report import fall_back
from promptpress_harness.bulk.retriever import CachedRetriever
from promptpress_harness.single.harness import loaded

INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_multiturn_inferencer"
TEMPLATE = "ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_multiturn"
_COLUMNS = ("question", "answer")
_BLOCK_ROWS = 512


def _encoded(template: Any) -> Any:
    """Return a template's turns as the harness lays them out, by a private method of the harness."""
    return methodcaller("_encode_template", template.template, ice=False)(template)


class Dialogues(CachedRetriever):
    """A retriever whose dialogues come from blocks of samples: each turn is rendered as a row, and turns are joined.

    Raises:
        NotCoveredError: For other templates, for examples, and for columns that aren't lists.
    """

    def __init__(self, retriever: Any, shots: Any) -> None:
        super().__init__(retriever, shots)
        check_retriever(AISBenchBulkCall.classes, retriever)
        template = retriever.prompt_template
        kind = class_with_code(type(template))
        if kind is not loaded(TEMPLATE, "MultiTurnPromptTemplate"):
            raise NotCoveredError(f"turns of {kind.__name__} aren't covered")
        check_as_constructed(template, template.template, template.ice_token, template.sep_token)
        if retriever.ice_template is not None or any(row_lists(shots, is_written=False)):
            raise NotCoveredError("turns with examples")
        self._rows = Rows(retriever.test_ds)
        for name in _COLUMNS:
            index = self._rows.schema.get_field_index(name)
            if index < 0 or not types.is_list(self._rows.schema.field(index).type):
                raise NotCoveredError(f"turns whose column {name!r} isn't a list")
        encoded = _encoded(template)
        start, end = get_round_index(encoded)
        self._before, self._after = encoded[:start], encoded[end:]
        self._kind = type(encoded)
        # The harness copies turns, whose class is mmengine's.
        self._kinds = [type(item) for item in encoded[start:end]]
        rounds = {"round": list(encoded[start:end])}
        self._renderer = silent(Renderer(rounds, output="prompt_list", mode="gen", dialect="aisbench"))
        self._start = -1
        self._dialogues: list[list[Any]] = []

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **others: Any) -> Any:
        """Return the dialogue of a sample."""
        start = idx - idx % _BLOCK_ROWS
        if start != self._start:
            self._start = start
            try:
                self._dialogues = self._block(start)
            except Exception as error:
                # One sample of the block can't be rendered; the harness raises its own exception there.
                fall_back(f"rendering failed ({error})")
                self._dialogues = []
        if not self._dialogues:
            return self.wrapped.generate_prompt_for_generate_task(idx, ice, **others)
        turns = [item.copy() if isinstance(item, dict) else item for item in self._dialogues[idx - start]]
        return self._kind([*self._before, *turns, *self._after])

    def _block(self, start: int) -> list[list[Any]]:
        table = self._rows.slice(start, start + _BLOCK_ROWS)
        questions, answers = (table[name].to_pylist() for name in _COLUMNS)
        # The harness's loop ends with the shorter list.
        counts = [min(map(len, lists)) for lists in zip(questions, answers, strict=True)]
        flat = {
            name: pa.array(
                [item for values, count in zip(column, counts, strict=True) for item in values[:count]],
                table.schema.field(name).type.value_type,
            )
            for name, column in zip(_COLUMNS, (questions, answers), strict=True)
        }
        requests: list[Any] = to_pylist(self._renderer.render(pa.table(flat))["prompt"])
        turns = iter([[kind(item) for kind, item in zip(self._kinds, turn, strict=True)] for turn in requests])
        return [list(chain.from_iterable(islice(turns, count))) for count in counts]


def bulk_turns(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap MultiTurnGenInferencer's `get_data_list`, so that dialogues are made in bulk if they are covered."""

    def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(self, retriever):
            return harness(self, _bulk_retriever(self, retriever), *rest, **others)

    return get_data_list


def _bulk_retriever(inferencer: Any, retriever: Any) -> Any:
    """Return a retriever whose dialogues come from blocks, or the harness's, with the reason in the log."""
    if type(inferencer) is not loaded(INFERENCER, "MultiTurnGenInferencer"):
        fall_back(f"{type(inferencer).__name__} isn't covered")
        return retriever
    if not len(retriever.test_ds):
        return retriever
    shots = materialized(retriever.retrieve(), is_read_once=True)
    dialogues = try_bulk(lambda: _checked_dialogues(inferencer, retriever, shots), len(shots))
    return CachedRetriever(retriever, shots) if dialogues is None else dialogues


def _checked_dialogues(inferencer: Any, retriever: Any, shots: Any) -> Dialogues:
    """Return dialogues in bulk; raise NotCoveredError if the first isn't that of the harness."""
    check_inferencer(inferencer, "get_data_list")
    dialogues = Dialogues(retriever, shots)
    expected = retriever.generate_prompt_for_generate_task(0, "")
    if not same(dialogues.generate_prompt_for_generate_task(0, ""), expected):
        raise NotCoveredError("the harness's dialogue is another")
    return dialogues
