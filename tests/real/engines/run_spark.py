"""Spark, with two task slots."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import on_spark
import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

LARGEST = 2**30


@contextlib.contextmanager
def started() -> Iterator[None]:
    spark = on_spark.session()
    spark.conf.set("spark.sql.files.openCostInBytes", LARGEST)  # each file is a partition of its own
    yield
    spark.stop()


def schema(parts: list[pa.Table]) -> pa.Schema:
    with partitions(parts) as data:
        return on_spark.to_arrow_schema(data.schema)


def run(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    with partitions(parts) as data:
        return on_spark.prompts(data, renderer).toArrow()


def run_by_closure(renderer: pp.Renderer, parts: list[pa.Table]) -> pa.Table:
    with partitions(parts) as data:
        out = renderer.output_schema(on_spark.to_arrow_schema(data.schema), keep=data.columns)
        rendered = data.mapInArrow(lambda batches: map(renderer, batches), on_spark.from_arrow_schema(out))
        return rendered.toArrow()


@contextlib.contextmanager
def partitions(parts: list[pa.Table]) -> Iterator[DataFrame]:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{n}.parquet") for n in range(len(parts))]
        for part, file in zip(parts, files, strict=True):
            pq.write_table(part, file)
        yield spark.read.parquet(*files)
