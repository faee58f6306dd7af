"""promptpress: a Renderer over the Arrow table."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Promptpress(Peer):
    def __init__(self, name: str, threads: int) -> None:
        self.id = name
        self.threads = threads

    def missing(self) -> str | None:
        try:
            from promptpress import Renderer  # noqa: F401
        except ImportError as error:
            return f"promptpress isn't installed: {error}"
        return None

    def version(self) -> str:
        import promptpress

        return f"promptpress {promptpress.__version__}"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        import promptpress

        renderer = promptpress.Renderer(**workload.config, examples=workload.examples and workload.examples())

        def render() -> pa.Table:
            promptpress.set_threads(self.threads)
            return renderer.render(samples)

        return render

    def requests(self, workload: Workload, answer: pa.Table) -> list[Any]:  # noqa: ARG002
        return answer["prompt"].to_pylist()
