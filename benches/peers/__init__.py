"""The peers that are compared, one file each.

Each file defines one peer, and each peer is used in its own idiom: `prepare` brings the samples into the form in which
its users hold them, which isn't timed, and returns the work that is.
"""

from __future__ import annotations

import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from workloads import BY_ID, Workload


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=3)
def samples_of(workload_id: str, count: int) -> pa.Table:
    """Return samples of a workload: those to compare, to tell a size by, and to time are at work together."""
    return BY_ID[workload_id].samples(count)


class Peer(ABC):
    """A way of rendering a workload's samples."""

    id: str
    name: str
    distribution: str = ""  # the package on PyPI
    package: str = ""  # what is imported
    threads: int = 1

    def missing(self) -> str | None:
        """Return the reason why the peer can't run here, or None."""
        if importlib.util.find_spec(self.package) is None:
            return f"{self.distribution} isn't installed (requirements/bench.txt, requirements/harness.txt)"
        return None

    def version(self) -> str:
        """Name and version of what is timed."""
        return f"{self.distribution} {version(self.distribution)}"

    @abstractmethod
    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        """The work to be timed; a new call does all of it again."""

    def before_round(self) -> None:  # noqa: B027 - few have anything to set
        """Set what this peer alone needs before a round; this isn't timed."""

    @abstractmethod
    def requests(self, workload: Workload, answer: Any) -> list[Any]:
        """An answer as Python values, one a request, all requests of a sample after each other."""
