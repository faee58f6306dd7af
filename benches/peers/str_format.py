"""`str.format`, over a list of dicts."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer
from peers.string_template import format_template


class StrFormat(Peer):
    id = "str_format"
    name = "str.format"

    def missing(self) -> str | None:
        return None

    def version(self) -> str:
        return f"{platform.python_implementation()} {platform.python_version()}"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        template = format_template(workload)
        rows = samples.to_pylist()
        return lambda: [template.format(**row) for row in rows]

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer
