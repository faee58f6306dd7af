"""Many short rows, streamed or on Ray: how long, how much memory, and what a billion of them cost.

    python benches/scale.py stream [--rows 1000000000] [--threads 2]
    python benches/scale.py ray    [--rows 100000000] [--workers 2]     (needs requirements/engines.txt)

The rows are a million different ones again and again, so that reading them costs nothing; what is rendered is looked at
(its rows and bytes are counted) and dropped. Each prints one object as JSON: seconds of the clock and of all
processors, bytes, and the process's resident memory at its highest, in bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Iterator
from typing import Any

import promptpress as pp
import pyarrow as pa

DISTINCT = 1_000_000
BATCH = 65_536
TEMPLATE = "Q: {question}\nA:"


def samples() -> pa.Table:
    """A million questions of some forty bytes."""
    questions = [f"What is {n} times {n % 97} plus {n * 7 % 1009}?" for n in range(DISTINCT)]
    return pa.table({"question": questions})


def batches(table: pa.Table, rows: int) -> Iterator[pa.RecordBatch]:
    """So many rows, batch by batch, from the table's beginning again and again."""
    pieces = table.to_batches(max_chunksize=BATCH)
    while rows > 0:
        for batch in pieces:
            yield batch.slice(0, min(rows, len(batch)))
            rows -= len(batch)
            if rows <= 0:
                return


def size_of(batch: Any) -> tuple[int, int]:
    """Return the number of prompts and their bytes."""
    column = batch.column(batch.schema.get_field_index("prompt"))
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return len(column), sum(chunk.get_total_buffer_size() for chunk in chunks)


def processor_seconds() -> float:
    """Return the CPU time of this process and of all processes that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def streamed(rows: int, threads: int) -> dict[str, Any]:
    """Render in one process."""
    pp.set_threads(threads)
    table, renderer = samples(), pp.Renderer(TEMPLATE)
    start, before = time.perf_counter(), processor_seconds()
    prompts = written = 0
    for batch in renderer.stream(batches(table, rows)):
        count, size = size_of(batch)
        prompts, written = prompts + count, written + size
    return {"prompts": prompts, "bytes": written, **took(start, before), "threads": threads}


def on_ray(rows: int, workers: int) -> dict[str, Any]:
    """Render in tasks of a local cluster, each worker on one thread."""
    import ray
    import ray.data

    one_thread = {"env_vars": {"PROMPTPRESS_THREADS": "1"}}
    ray.init(num_cpus=workers, runtime_env=one_thread, include_dashboard=False, log_to_driver=False)
    try:
        block, renderer = ray.put(samples()), pp.Renderer(TEMPLATE)

        def count(batch: pa.Table) -> pa.Table:
            prompts, size = size_of(batch)
            return pa.table({"prompts": [prompts], "bytes": [size]})

        start = time.perf_counter()
        data = ray.data.from_arrow_refs([block] * (rows // DISTINCT))
        data = data.map_batches(renderer, batch_format="pyarrow", batch_size=BATCH, zero_copy_batch=True)
        sizes = data.map_batches(count, batch_format="pyarrow", batch_size=None)
        counts = [(row["prompts"], row["bytes"]) for row in sizes.iter_rows()]
        seconds = time.perf_counter() - start
    finally:
        ray.shutdown()
    prompts, written = (sum(column) for column in zip(*counts, strict=True))
    return {
        "prompts": prompts,
        "bytes": written,
        "seconds": seconds,
        # What the workers have is what is paid for, whatever they make of it.
        "processor_seconds": workers * seconds,
        "workers": workers,
    }


def took(start: float, before: float) -> dict[str, float]:
    """Return the resources that a run has used."""
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": processor_seconds() - before,
        "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> None:
    """Run one of both, and print what it came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=("stream", "ray"))
    parser.add_argument("--rows", type=int, default=DISTINCT * 100, help="how many (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the stream (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="of Ray (default: %(default)s)")
    options = parser.parse_args()
    figures = (
        streamed(options.rows, options.threads) if options.way == "stream" else on_ray(options.rows, options.workers)
    )
    if figures["prompts"] != options.rows:
        raise SystemExit(f"{figures['prompts']} prompts of {options.rows} rows")
    billion = 1e9 / options.rows
    figures["rows_per_second"] = options.rows / figures["seconds"]
    figures["processor_hours_per_billion"] = figures["processor_seconds"] * billion / 3600
    print(json.dumps({key: round(value, 3) for key, value in figures.items()}, indent=1))


if __name__ == "__main__":
    main()
