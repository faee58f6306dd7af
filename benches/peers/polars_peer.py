"""Polars: `pl.format`, over a data frame. One expression runs on one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer
from peers.string_template import parts_of


class Polars(Peer):
    id = "polars"
    name = "Polars pl.format"
    distribution = "polars"
    package = "polars"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        import polars as pl

        # `{}` is the placeholder, so a literal with braces goes in as an expression.
        template, expressions = "", []
        for part in parts_of(workload):
            if part.is_field or "{" in part.text or "}" in part.text:
                template += "{}"
                expressions.append(pl.col(part.text) if part.is_field else pl.lit(part.text))
            else:
                template += part.text
        frame = pl.from_arrow(samples)
        return lambda: frame.select(pl.format(template, *expressions).alias("prompt"))

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer["prompt"].to_list()
