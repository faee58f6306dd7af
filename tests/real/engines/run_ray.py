"""Ray Data, with two processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import on_ray
import promptpress as pp
import pyarrow as pa
import ray
import ray.data


@contextlib.contextmanager
def started() -> Iterator[None]:
    on_ray.start()
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield
    ray.shutdown()


def schema(parts: list[pa.Table]) -> pa.Schema:
    return parts[0].schema


def run(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    return collected(on_ray.prompts(blocks(parts), renderer))


def run_by_actors(renderer: pp.Renderer, parts: list[pa.Table], actors: int) -> pa.Table:
    return collected(on_ray.prompts_by_actors(blocks(parts), renderer, actors))


def blocks(parts: list[pa.Table]) -> Any:
    return ray.data.from_arrow(parts)


def collected(data: Any) -> pa.Table:
    # A block without rows has no columns either.
    blocks = ray.get(data.to_arrow_refs())
    return pa.concat_tables([block for block in blocks if block.num_rows] or blocks)
