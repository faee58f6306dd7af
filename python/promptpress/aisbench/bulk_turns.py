"""MultiTurnGenInferencer's dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress._backend.dataset import NotCoveredError, Rows
from promptpress._backend.log import fall_back
from promptpress._backend.objects import same
from promptpress._backend.retriever import Chosen
from promptpress._backend.run import check_retriever, loaded
from promptpress._notes import silent
from promptpress.aisbench.bulk_course import AISBenchRun
from promptpress.aisbench.prompt_list import get_round_index
from promptpress.renderer import Renderer
from promptpress.requests import to_pylist

INFERENCER = "ais_bench.benchmark.openicl.icl_inferencer.icl_multiturn_inferencer"
TEMPLATE = "ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_multiturn"
_COLUMNS = ("question", "answer")
_BLOCK = 512


class Dialogues(Chosen):
    """A retriever whose dialogues come out of blocks of samples: a row for each turn is rendered, and turns are joined.

    Args:
        retriever: The harness's retriever.

    Raises:
        NotCoveredError: For other templates, for examples, and for columns that aren't lists.
    """

    def __init__(self, retriever: Any) -> None:
        super().__init__(retriever)
        check_retriever(AISBenchRun.classes, retriever)
        template = retriever.prompt_template
        if type(template) is not loaded(TEMPLATE, "MultiTurnPromptTemplate") or "generate_item" in vars(template):
            raise NotCoveredError(f"turns of {type(template).__name__} aren't covered")
        if retriever.ice_template is not None or any(self.shots):
            raise NotCoveredError("turns with examples")
        self._rows = Rows(retriever.test_ds)
        for name in _COLUMNS:
            at = self._rows.schema.get_field_index(name)
            if at < 0 or not types.is_list(self._rows.schema.field(at).type):
                raise NotCoveredError(f"turns whose column {name!r} isn't a list")
        whole = template._encode_template(template.template, ice=False)
        start, end = get_round_index(whole)
        self._before, self._after = whole[:start], whole[end:]
        self._kind = type(whole)
        # The harness copies turns, and a running harness has them of a class of its own.
        self._kinds = [type(item) for item in whole[start:end]]
        rounds = {"round": list(whole[start:end])}
        self._renderer = silent(Renderer(rounds, output="prompt_list", mode="gen", dialect="aisbench"))
        self._start = -1
        self._dialogues: list[list[Any]] = []

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **_: Any) -> Any:  # noqa: ARG002 - there is none
        """The dialogue of a sample."""
        start = idx - idx % _BLOCK
        if start != self._start:
            self._dialogues = self._block(start)
            self._start = start
        turns = [item.copy() if isinstance(item, dict) else item for item in self._dialogues[idx - start]]
        return self._kind([*self._before, *turns, *self._after])

    def _block(self, start: int) -> list[list[Any]]:
        table = self._rows.slice(start, min(start + _BLOCK, self._rows.count))
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
        turns = map(self._of_own_kinds, to_pylist(self._renderer.render(pa.table(flat))["prompt"]))
        return [[item for _ in range(count) for item in next(turns)] for count in counts]

    def _of_own_kinds(self, turn: list[Any]) -> list[Any]:
        return [kind(item) for kind, item in zip(self._kinds, turn, strict=True)]


def bulk_turns(harness: Callable[..., Any]) -> Callable[..., Any]:
    """MultiTurnGenInferencer's `get_data_list`, in bulk where it is covered."""

    def get_data_list(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        if type(self) is not loaded(INFERENCER, "MultiTurnGenInferencer"):
            fall_back(f"{type(self).__name__} isn't covered")
            return harness(self, retriever, *rest, **others)
        found = retriever
        try:
            if len(retriever.test_ds):
                dialogues = Dialogues(retriever)
                expected = retriever.generate_prompt_for_generate_task(0, "")
                if same(dialogues.generate_prompt_for_generate_task(0, ""), expected):
                    found = dialogues
                else:
                    fall_back("the harness's dialogue is another")
        except NotCoveredError as reason:
            fall_back(str(reason))
        except Exception as error:
            fall_back(f"rendering failed ({error})")
        return harness(self, found, *rest, **others)

    return get_data_list
