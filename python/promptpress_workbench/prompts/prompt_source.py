"""Sources of prompts: tables of requests, which are gone through in batches or looked at one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

import pyarrow as pa
from promptpress.engine.tables import without_views

from promptpress_workbench.prompts.prompt import Prompt


class RequestId(NamedTuple):
    """Identifies a request by its sample, and by its label and turn if it has any."""

    sample: int
    label: Any = None
    turn: int | None = None


@dataclass(frozen=True)
class RequestBatch:
    """Some requests, as Arrow columns.

    Args:
        samples: The number of each request's sample (int64), from 0, ascending.
        prompts: The requests: strings, or lists of messages.
        labels: The labels, if the requests have any.
        turns: The turns, if the requests have any.
        numbering: The origin of the samples' numbers: the rows of a renderer (`"own"`), a file that states them or
            whose rows leave no doubt (`"said"`), or a count of turns, which may be wrong (`"counted"`).

    """

    samples: pa.Array
    prompts: pa.Array
    labels: pa.Array | None = None
    turns: pa.Array | None = None
    numbering: Literal["own", "said", "counted"] = "said"

    def __len__(self) -> int:
        return len(self.prompts)

    def ids(self) -> Iterator[RequestId]:
        """Yield what identifies each request."""
        nulls = [None] * len(self)
        labels = nulls if self.labels is None else self.labels.to_pylist()
        turns = nulls if self.turns is None else self.turns.to_pylist()
        return map(RequestId, self.samples.to_pylist(), labels, turns)

    def take(self, rows: pa.Array) -> RequestBatch:
        """Return some of the requests, by their positions in the batch."""
        return replace(
            self,
            samples=self.samples.take(rows),
            prompts=take(pa.chunked_array([self.prompts]), rows),
            labels=None if self.labels is None else self.labels.take(rows),
            turns=None if self.turns is None else self.turns.take(rows),
        )


def take(column: pa.ChunkedArray, rows: pa.Array) -> pa.Array:
    """Take rows of a column in any order, even if Arrow's kernel doesn't take the type; views become strings."""
    column = without_views(column)
    try:
        chunks = column.take(rows).chunks
    except pa.ArrowNotImplementedError:  # views within messages
        chunks = [column.slice(row, 1).chunk(0) for row in rows.to_pylist()]
    return pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


class PromptSource(Protocol):
    """A table of requests, each of which can be looked at."""

    @property
    def has_origins(self) -> bool:
        """True if the pieces of prompts have origins."""

    @property
    def labels(self) -> list[Any] | None:
        """The labels of each sample; None if there are none, or they aren't known."""

    @property
    def num_samples(self) -> int:
        """The number of samples. If no file states it, the samples are counted once."""

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the requests of a sample: all, or those of one label, as `Renderer.explain` takes it, or of one turn.

        Raises:
            RenderError: If there is no such row, label or turn, or it can't be rendered.

        """

    def requests(self) -> Iterator[RequestBatch]:
        """Yield all requests in order, in memory that a batch limits."""

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt without origins from a value of `requests`, as `promptpress.to_pylist` returns it."""
