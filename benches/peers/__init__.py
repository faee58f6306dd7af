"""What is compared, one file a peer.

Each file defines one peer, and each peer is used in its own idiom: `prepare` brings the samples into the form in which
its users hold them, which isn't timed, and returns the work that is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload


class Peer(ABC):
    """A way of rendering a workload's samples."""

    id: str
    threads: int = 1

    @abstractmethod
    def missing(self) -> str | None:
        """Why it can't run here, if it can't."""

    @abstractmethod
    def version(self) -> str:
        """Name and version of what is timed."""

    @abstractmethod
    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        """The work to be timed; a new call does all of it again."""

    @abstractmethod
    def requests(self, workload: Workload, answer: Any) -> list[Any]:
        """An answer as Python values, one a request, all labels of a sample after each other."""
