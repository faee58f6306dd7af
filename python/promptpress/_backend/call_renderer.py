"""Renders the samples of one call of an inferencer, a block at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import chain
from threading import RLock
from typing import Any

import pyarrow as pa

from promptpress._backend.dataset import Rows
from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._backend.objects import kind_of, requests_of
from promptpress._backend.report import current_record
from promptpress._notes import silent
from promptpress._renderer import Renderer

_MAX_RENDERERS = 32
_MAX_LARGEST_BLOCKS = 64  # so many samples are held rendered at most, as are in so many blocks of the largest size
_SHOTS_COLUMN = "promptpress shots"


class CallRenderer:
    """The samples of one call, the examples of each, and what their prompts have in common.

    Args:
        samples: The dataset whose rows are samples.
        examples: The dataset whose rows are examples.
        shots: For each sample the numbers of its examples. The list is looked into again later: the harness shortens
            its items.
        settings: Arguments of `Renderer` that hold for all prompts that don't bring their own, without a retriever.
        joints: `ice_separator` and `ice_eos_token` of the retriever.

    Raises:
        NotCoveredError: If the datasets or the examples' numbers aren't covered.
    """

    largest_block = 1024
    """How many samples are rendered at a time at most."""

    is_shared = False
    """Whether threads take prompts from it, each as it comes to it."""

    def __init__(
        self,
        samples: Any,
        examples: Any,
        shots: list[Sequence[int]],
        settings: dict[str, Any],
        joints: dict[str, Any],
    ) -> None:
        self.samples = Rows(samples)
        self.record = current_record()
        self.lock = RLock()
        self.shots = shots
        self._settings = settings
        self._joints = joints
        if len(shots) != self.samples.count:
            raise NotCoveredError("the retriever chooses for more or fewer samples than there are")
        if _SHOTS_COLUMN in self.samples.schema.names:
            raise NotCoveredError(f"the dataset has a column {_SHOTS_COLUMN!r}")
        # Many samples share one list.
        lists = {id(rows): rows for rows in shots}.values()
        used = sorted(set(chain.from_iterable(lists)))
        self._places = {row: place for place, row in enumerate(used)}
        self._examples: pa.Table | None = None
        if used:
            self.example_rows = Rows(examples)
            if not all(type(row) is int and 0 <= row < self.example_rows.count for row in used):
                raise NotCoveredError("the retriever chooses rows that the train split doesn't have")
            self._examples = self.example_rows.take(used)
        self._renderers: OrderedDict[Any, Renderer] = OrderedDict()
        self._blocks: OrderedDict[tuple[int, int], tuple[Any, int]] = OrderedDict()
        self._held_rows = 0

    def render(self, arguments: dict[str, Any], key: Any, start: int, shots: list[Sequence[int]]) -> Any:
        """Render samples that follow one another.

        Args:
            arguments: Further arguments of `Renderer`; and `finish`, the harness's parser, for classes that need it.
            key: What tells these arguments from others.
            start: The first sample.
            shots: The examples of each.

        Returns:
            The prompts.
        """
        table = self.samples.slice(start, start + len(shots))
        first = shots[0]
        if shots.count(first) == len(shots):
            renderer = self._renderer(arguments, (key, tuple(first)), self._fixed(first))
        else:
            column = pa.array([[self._places[row] for row in rows] for rows in shots], pa.list_(pa.int64()))
            table = table.append_column(_SHOTS_COLUMN, column)
            renderer = self._renderer(
                arguments, (key, None), {"type": "IndexColumn", "column": _SHOTS_COLUMN, **self._joints}
            )
        return renderer.render(table)["prompt"]

    def example_values(self, column: str) -> set[Any]:
        """What the rows that are examples have in a column."""
        return set() if self._examples is None else set(self._examples[column].to_pylist())

    def _fixed(self, rows: Sequence[int]) -> dict[str, Any]:
        if not rows:
            return {"type": "ZeroRetriever", "ice_eos_token": self._joints["ice_eos_token"]}
        return {"type": "FixKRetriever", "fix_id_list": [self._places[row] for row in rows], **self._joints}

    def _renderer(self, arguments: dict[str, Any], key: Any, retriever: dict[str, Any]) -> Renderer:
        found = self._renderers.get(key)
        if found is None:
            examples = None if retriever["type"] == "ZeroRetriever" else self._examples
            arguments = {name: value for name, value in arguments.items() if name != "finish"}
            found = silent(Renderer(**{**self._settings, **arguments}, retriever=retriever, examples=examples))
            self._renderers[key] = found
            if len(self._renderers) > _MAX_RENDERERS:
                self._renderers.popitem(last=False)
        else:
            self._renderers.move_to_end(key)
        return found

    def kind_of(self, arguments: dict[str, Any], request: Any) -> Callable[[Any], Any]:  # noqa: ARG002 - for other classes
        """What makes rendered requests into the same kind as the harness's.

        Args:
            arguments: The arguments that they are rendered with.
            request: A request as the harness makes it.
        """
        return kind_of(request)

    def requests_of(
        self,
        arguments: dict[str, Any],  # noqa: ARG002 - for other classes
        prompts: Any,
        kind: Callable[[Any], Any],
    ) -> Callable[[int], Any]:
        """The requests of a rendered block, by their numbers.

        Args:
            arguments: The arguments that it was rendered with.
            prompts: The block.
            kind: What `kind_of` gave.
        """
        return requests_of(prompts, kind)

    @property
    def block_rows(self) -> int:
        """How many samples a block may have, so that there is room for as many as there are blocks now.

        A loop may go through all labels of a sample before the next, and comes back to the block of each.
        """
        fair = _MAX_LARGEST_BLOCKS * self.largest_block // max(1, len(self._blocks))
        return min(self.largest_block, max(1, fair))

    def add_block(self, owner: Any, length: int, rows: int) -> None:
        """Remember that a rendering stored a block, and have the oldest blocks of all let go if there are too many.

        Args:
            owner: What holds the block; its `drop` is called with `length` in the end.
            length: Which of its blocks.
            rows: How many samples it has.
        """
        place = (id(owner), length)
        self._held_rows += rows - self._blocks.get(place, (None, 0))[1]
        self._blocks[place] = owner, rows
        self._blocks.move_to_end(place)
        while self._held_rows > _MAX_LARGEST_BLOCKS * self.largest_block:
            (_, oldest), (other, let_go) = self._blocks.popitem(last=False)
            self._held_rows -= let_go
            other.drop(oldest)
