"""Daft on its native runner: threads of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import reduce

import daft
import on_daft
import promptpress as pp
import pyarrow as pa


@contextlib.contextmanager
def started() -> Iterator[None]:
    daft.set_runner_native()
    yield


def schema(parts: list[pa.Table]) -> pa.Schema:
    return daft.from_arrow(parts[0]).schema().to_pyarrow_schema()


def run(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    # Batches of the first part's size, so that the function is called more than once.
    data = reduce(daft.DataFrame.concat, [daft.from_arrow(part) for part in parts])
    return on_daft.prompts(data.into_batches(max(1, parts[0].num_rows)), renderer).to_arrow()
