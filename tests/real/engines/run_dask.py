"""Dask, with two processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import dask.dataframe as dd
import on_dask
import pandas as pd
import promptpress as pp
import pyarrow as pa
from distributed import Client, default_client


@contextlib.contextmanager
def started() -> Iterator[None]:
    with on_dask.start() as cluster, Client(cluster):
        yield


def schema(parts: list[pa.Table]) -> pa.Schema:
    return parts[0].schema


def run(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    return collected(on_dask.prompts(partitions(parts), renderer, default_client()))


def run_by_closure(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    data = partitions(parts)
    keep = parts[0].column_names
    meta = frame(renderer.output_schema(schema(parts), keep).empty_table())
    return collected(data.map_partitions(lambda part: on_dask.rendered(part, renderer), meta=meta))


def partitions(parts: list[pa.Table]) -> dd.DataFrame:
    return dd.from_map(frame, parts, meta=frame(parts[0].schema.empty_table()))


def frame(part: pa.Table) -> pd.DataFrame:
    return part.to_pandas(types_mapper=pd.ArrowDtype)


def collected(data: Any) -> pa.Table:
    return pa.Table.from_pandas(data.compute(), preserve_index=False).replace_schema_metadata()
