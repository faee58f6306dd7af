"""DuckDB, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb
import on_duckdb
import promptpress as pp
import pyarrow as pa


@contextlib.contextmanager
def started() -> Iterator[None]:
    yield


def schema(parts: list[pa.Table]) -> pa.Schema:
    return parts[0].schema


def run(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    data = duckdb.from_arrow(pa.concat_tables(parts))
    return on_duckdb.prompts(data, renderer, max(1, parts[0].num_rows)).read_all()
