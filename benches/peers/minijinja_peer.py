"""minijinja-py: one template, added to an environment once, rendered for each dict of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer, rows_of
from peers.string_template import jinja_template


class MiniJinja(Peer):
    id = "minijinja"
    name = "minijinja-py"
    distribution = "minijinja"
    package = "minijinja"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        from minijinja import Environment

        environment = Environment(templates={"prompt": jinja_template(workload)})
        environment.keep_trailing_newline = True
        rows = rows_of(samples)
        render = environment.render_template
        return lambda: [render("prompt", **row) for row in rows]

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer
