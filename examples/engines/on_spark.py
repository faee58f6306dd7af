"""Five-shot prompts on Spark 4, which needs Java 17 or newer.

python examples/engines/on_spark.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import promptpress as pp
import pyarrow as pa
from five_shot import OUT, five_shot, samples
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema


def prompts(data: DataFrame, renderer: pp.Renderer) -> DataFrame:
    """A broadcast is sent to each machine once and unpickled by each Python worker once; a closure, by each task."""
    shared = data.sparkSession.sparkContext.broadcast(renderer)

    def rendered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(shared.value, batches)

    schema = renderer.output_schema(to_arrow_schema(data.schema), keep=data.columns)
    return data.mapInArrow(rendered, from_arrow_schema(schema))


def session() -> SparkSession:
    """Spark on this machine, with two cores; each worker has one, and so one thread to render with."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' Python is the one that has promptpress
    local = SparkSession.builder.master("local[2]").config("spark.executorEnv.PROMPTPRESS_THREADS", "1")
    spark = local.config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    spark = session()
    try:
        data = spark.read.parquet(samples(out))
        prompts(data, five_shot()).write.mode("overwrite").parquet(str(out / "spark"))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
