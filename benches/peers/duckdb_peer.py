"""DuckDB: strings put together in SQL, over an Arrow table, to an Arrow table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer, cores
from peers.string_template import parts_of


class DuckDB(Peer):
    id = "duckdb"
    name = "DuckDB"
    distribution = "duckdb"
    package = "duckdb"
    threads = cores()

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        import duckdb

        connection = duckdb.connect(config={"threads": self.threads})
        connection.register("samples", samples)
        parts = (
            f'"{part.text}"' if part.is_field else "'" + part.text.replace("'", "''") + "'"
            for part in parts_of(workload)
        )
        query = f"SELECT {' || '.join(parts)} AS prompt FROM samples"
        return lambda: connection.sql(query).to_arrow_table()

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer["prompt"].to_pylist()
