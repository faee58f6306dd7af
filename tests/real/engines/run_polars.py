"""Polars, in this process, by its streaming engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import on_polars
import polars as pl
import promptpress as pp
import pyarrow as pa


@contextlib.contextmanager
def started() -> Iterator[None]:
    yield


def schema(parts: list[pa.Table]) -> pa.Schema:
    return pl.from_arrow(parts[0]).to_arrow(compat_level=pl.CompatLevel.newest()).schema


def run(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    frames = [pl.from_arrow(part).lazy() for part in parts]
    out = on_polars.prompts(pl.concat(frames), renderer)
    return out.collect(engine="streaming").to_arrow(compat_level=pl.CompatLevel.newest())
