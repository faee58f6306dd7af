"""The renderer of one call's samples, which renders a block of them at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import chain
from threading import RLock
from typing import Any

import pyarrow as pa
from promptpress import Renderer
from promptpress.engine import silent
from promptpress.engine.tables import values_of

from promptpress_harness.bulk.dataset import Rows
from promptpress_harness.bulk.monkeypatches import NotCoveredError
from promptpress_harness.bulk.objects import kind_of, requests_of
from promptpress_harness.bulk.report import current_record
from promptpress_harness.bulk.row_filling import RowFilling

_MAX_RENDERERS = 32
_MAX_LARGEST_BLOCKS = 64  # the most rendered samples that are held, in blocks of the largest size
_SHOTS_COLUMN = "promptpress shots"


class CallRenderer:
    """The samples of one call, the examples of each, and what their prompts have in common.

    Args:
        samples: The dataset whose rows are samples.
        examples: The dataset whose rows are examples.
        shots: The rows of each sample's examples. The list is read again later, because the harness shortens its items.
        settings: Arguments of `Renderer`, without a retriever; those of a prompt go first.
        joints: `ice_separator` and `ice_eos_token` of the retriever.

    Raises:
        NotCoveredError: If the datasets or the examples' rows aren't covered.
    """

    largest_block = 1024
    """The most samples that are rendered at a time."""

    is_shared = False
    """True if several threads ask for prompts."""

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
        self.filling: RowFilling | None = None
        """The maker of the rows that templates are filled with; None: they are the samples."""
        self._settings = settings
        self._joints = joints
        if len(shots) != self.samples.count:
            raise NotCoveredError("the retriever chooses for more or fewer samples than there are")
        if _SHOTS_COLUMN in self.samples.schema.names:
            raise NotCoveredError(f"the dataset has a column {_SHOTS_COLUMN!r}")
        # Many samples share one list.
        lists = {id(rows): rows for rows in shots}.values()
        used = sorted(set(chain.from_iterable(lists)))
        self._example_indexes = {row: index for index, row in enumerate(used)}
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
        """Render consecutive samples and return their prompts.

        Args:
            arguments: Further arguments of `Renderer`; and `finish`, the harness's parser, for classes that need it.
            key: Identifies these arguments in the cache.
            start: The first sample.
            shots: The rows of each sample's examples.
        """
        table = self.samples.slice(start, start + len(shots))
        if self.filling is not None:
            table = self.filling.table(table)
        first = shots[0]
        if shots.count(first) == len(shots):
            renderer = self._renderer(arguments, (key, tuple(first)), self._fixed(first))
        else:
            column = pa.array([[self._example_indexes[row] for row in rows] for rows in shots], pa.list_(pa.int64()))
            table = table.append_column(_SHOTS_COLUMN, column)
            renderer = self._renderer(
                arguments, (key, None), {"type": "IndexColumn", "column": _SHOTS_COLUMN, **self._joints}
            )
        return renderer.render(table)["prompt"]

    def example_values(self, column: str) -> set[Any]:
        """Return the values of the examples in a column."""
        return set() if self._examples is None else set(values_of(self._examples, column))

    def _fixed(self, rows: Sequence[int]) -> dict[str, Any]:
        if not rows:
            return {"type": "ZeroRetriever", "ice_eos_token": self._joints["ice_eos_token"]}
        return {"type": "FixKRetriever", "fix_id_list": [self._example_indexes[row] for row in rows], **self._joints}

    def _renderer(self, arguments: dict[str, Any], key: Any, retriever: dict[str, Any]) -> Renderer:
        renderer = self._renderers.get(key)
        if renderer is None:
            examples = None if retriever["type"] == "ZeroRetriever" else self._examples
            arguments = {name: value for name, value in arguments.items() if name != "finish"}
            renderer = silent(Renderer(**{**self._settings, **arguments}, retriever=retriever, examples=examples))
            self._renderers[key] = renderer
            if len(self._renderers) > _MAX_RENDERERS:
                self._renderers.popitem(last=False)
        else:
            self._renderers.move_to_end(key)
        return renderer

    def kind_of(self, arguments: dict[str, Any], request: Any) -> Callable[[Any], Any]:  # noqa: ARG002 - for other classes
        """Return a function that makes a rendered request an object of the same class as a harness's request."""
        return kind_of(request)

    def requests_of(
        self,
        arguments: dict[str, Any],  # noqa: ARG002 - for other classes
        prompts: Any,
        kind: Callable[[Any], Any],
    ) -> Callable[[int], Any]:
        """Return a function that builds a request of a rendered block from its index; `kind` comes from `kind_of`."""
        return requests_of(prompts, kind)

    @property
    def block_rows(self) -> int:
        """The most samples of a new block, so that as many blocks as there are now can be held.

        A loop may go through all labels of a sample before the next, and it comes back to the block of each.
        """
        fair = _MAX_LARGEST_BLOCKS * self.largest_block // max(1, len(self._blocks))
        return min(self.largest_block, max(1, fair))

    def add_block(self, owner: Any, length: int, rows: int) -> None:
        """Count a stored block, and have the oldest blocks dropped if too many samples are held.

        Args:
            owner: The rendering that holds the block; its `drop` is called with `length`.
            length: The number of examples, by which the owner keeps its blocks.
            rows: The number of samples.
        """
        key = (id(owner), length)
        self._held_rows += rows - self._blocks.get(key, (None, 0))[1]
        self._blocks[key] = owner, rows
        self._blocks.move_to_end(key)
        while self._held_rows > _MAX_LARGEST_BLOCKS * self.largest_block:
            (_, oldest), (other, dropped_rows) = self._blocks.popitem(last=False)
            self._held_rows -= dropped_rows
            other.drop(oldest)
