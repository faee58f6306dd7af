"""Hugging Face datasets, in this process or in several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import datasets
import on_datasets
import promptpress as pp
import pyarrow as pa


@contextlib.contextmanager
def started() -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def schema(parts: list[pa.Table]) -> pa.Schema:
    return parts[0].schema


def run(renderer: pp.Renderer, parts: list[pa.Table], processes: int | None = None) -> pa.Table:
    # A dataset has no partitions but the batches that it is mapped in.
    data = datasets.concatenate_datasets([datasets.Dataset(datasets.table.InMemoryTable(part)) for part in parts])
    size = max(1, parts[0].num_rows)
    out = on_datasets.prompts(data, renderer, batch_size=size, num_proc=processes)
    return out.with_format("arrow")[:].replace_schema_metadata()
