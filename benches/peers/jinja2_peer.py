"""Jinja2: one template, compiled once, rendered for each dict of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer, rows_of
from peers.string_template import jinja_template


class Jinja2(Peer):
    id = "jinja2"
    name = "jinja2"
    distribution = "Jinja2"
    package = "jinja2"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        from jinja2 import Environment

        render = Environment(keep_trailing_newline=True).from_string(jinja_template(workload)).render
        rows = rows_of(samples)
        return lambda: [render(row) for row in rows]

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer
