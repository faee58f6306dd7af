"""Five-shot prompts between two DuckDB queries.

python examples/engines/on_duckdb.py
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import promptpress as pp
import pyarrow as pa
from five_shot import OUT, five_shot, samples


def prompts(data: duckdb.DuckDBPyRelation, renderer: pp.Renderer, rows: int = 65_536) -> pa.RecordBatchReader:
    """DuckDB's result as a stream, rendered as it is read; another query takes that as a table."""
    return renderer.stream(data.to_arrow_reader(rows), keep=data.columns)


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    with duckdb.connect() as reading, duckdb.connect() as writing:
        rendered = prompts(reading.read_parquet(samples(out)), five_shot())
        writing.from_arrow(rendered).write_parquet(str(out / "duckdb.parquet"))


if __name__ == "__main__":
    main()
