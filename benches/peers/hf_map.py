"""Hugging Face datasets: a batched `map` with `str.format`, in one process, in memory, nothing cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer
from peers.string_template import format_template


class HfMap(Peer):
    id = "hf_map"
    name = "datasets.map, batched"
    distribution = "datasets"
    package = "datasets"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        import datasets

        datasets.disable_progress_bars()
        template, names = format_template(workload), samples.column_names

        def prompts(batch: dict[str, list[Any]]) -> dict[str, list[str]]:
            rows = zip(*(batch[name] for name in names), strict=True)
            return {"prompt": [template.format(**dict(zip(names, row, strict=True))) for row in rows]}

        dataset = datasets.Dataset(samples)
        return lambda: dataset.map(
            prompts, batched=True, remove_columns=names, keep_in_memory=True, load_from_cache_file=False
        )

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return list(answer["prompt"])
