"""pyarrow: `binary_join_element_wise` over literals and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer
from peers.string_template import parts_of


class PyArrow(Peer):
    id = "pyarrow"
    name = "pyarrow binary_join"
    distribution = "pyarrow"
    package = "pyarrow"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        import pyarrow.compute as pc

        parts = [
            samples[part.text] if part.is_field else pa.scalar(part.text, pa.string()) for part in parts_of(workload)
        ]
        return lambda: pc.binary_join_element_wise(*parts, "")

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer.to_pylist()
