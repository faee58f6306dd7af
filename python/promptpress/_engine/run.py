"""One pass over a table or a stream: samples go in, parts with their requests come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._errors.row_errors import RowErrors


@dataclass(frozen=True)
class Part:
    """The requests of consecutive samples: what an outcome of the core has, and an error for each request.

    Args:
        start: The number of the first sample.
        rows: How many samples there are.
        prompts: The requests; null where there is an error.
        errors: The error of each request, as text; null where there is none. None: errors weren't asked for.
        labels: The label of each request, in ppl.
        turns: The turn of each request, of conversations.
        samples: The sample of each request, where samples differ in their number of requests.
        spans: The spans of each request, where they were asked for.
        hashes: The hash of each request, where what rendered them has made it.
        more: More columns in the place of the prompts, which are None then.

    """

    start: int
    rows: int
    prompts: Any
    errors: Any = None
    labels: Any = None
    turns: Any = None
    samples: Any = None
    spans: Any = None
    hashes: Any = None
    more: Sequence[Any] = ()


class Run(ABC):
    """Renders the samples of one table or stream, batch after batch.

    A run keeps what goes on from batch to batch, such as the position of retrievers.
    """

    times: int = 1
    """The requests of a sample, where all have as many."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.row_number: Callable[[int], int] = int
        """Returns the number of a sample for its place in the run, if they differ."""
        self.samples = 0
        """The number of samples that were rendered so far."""
        self.errors = RowErrors()
        """The samples that couldn't be rendered, if the run goes on after them."""

    @property
    def writes_json(self) -> bool:
        """True if the requests are messages written as JSON, whose hash is the messages'."""
        return False

    @abstractmethod
    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[_core.RenderedRows | Part]:
        """Render the next samples.

        Args:
            table: The samples.
            first: How many samples came before.
            single: Whether all requests have to come as one part.

        Yields:
            The requests, in order.

        Raises:
            RenderError: If a sample can't be rendered, and the run doesn't put errors into a column.

        """
