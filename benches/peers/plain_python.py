"""Plain Python: the model that the tests use as their oracle, over a list of dicts."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer


class PlainPython(Peer):
    id = "plain_python"

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("plain_model") else "tests/plain_model.py isn't there"

    def version(self) -> str:
        return f"{platform.python_implementation()} {platform.python_version()}"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        from plain_model import render

        rows = samples.to_pylist()
        train = workload.examples().to_pylist() if workload.examples else []
        return lambda: render(workload.config, rows, train)

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer
