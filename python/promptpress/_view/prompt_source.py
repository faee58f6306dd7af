"""Where prompts that are looked at come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa

from promptpress._view.prompt import Prompt

__all__ = ["PromptSource", "RequestBatch"]


@dataclass(frozen=True)
class RequestBatch:
    """Some requests, as Arrow columns.

    Args:
        samples: int64, the number of each request's sample, from 0, ascending.
        prompts: The requests: strings, or lists of messages.
        labels: Their labels, where they have any.
        turns: Their turns, likewise.
        numbering: What the samples' numbers are: those of the rows that a renderer has (`"own"`), what a file says or
            its rows say beyond doubt (`"said"`), or counted by turns, and so perhaps not the true ones (`"counted"`).

    """

    samples: pa.Array
    prompts: pa.Array
    labels: pa.Array | None = None
    turns: pa.Array | None = None
    numbering: Literal["own", "said", "counted"] = "said"

    def __len__(self) -> int:
        return len(self.prompts)


class PromptSource(Protocol):
    """A table of requests, of which each can be looked at."""

    @property
    def has_origins(self) -> bool:
        """Whether prompts know where their pieces come from."""

    @property
    def num_samples(self) -> int:
        """How many samples there are. Where no file says that they are counted, once."""

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the requests of one sample.

        Args:
            row: Its number, from 0.
            label: Only the one of this label, as `Renderer.explain` takes it.
            turn: Only the one of this turn.

        Raises:
            RenderError: If there is no such row, label or turn, or it can't be rendered.

        """

    def requests(self) -> Iterator[RequestBatch]:
        """Go through all requests, in order, in memory bounded by the batch.

        Raises:
            RenderError: If one can't be rendered.

        """

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt without origins of a value of `requests`.

        Args:
            value: As `promptpress.to_pylist` gives it.
            sample: Its sample's number.
            label: Its label.
            turn: Its turn.

        """
