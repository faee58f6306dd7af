"""Memory: what an output holds, and what a process holds before, while and after it renders.

python benches/memory.py kept WORKLOAD SAMPLES      a render whose output is dropped
python benches/memory.py growth WORKLOAD SAMPLES    a stream whose batches are dropped, generated on the fly

These print JSON, in bytes; they are run as processes of their own (`in_process`), so that nothing else is counted.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

import pyarrow as pa


def in_process(*arguments: object) -> dict[str, int]:
    """Run this file with the arguments; returns what it prints."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def held(table: pa.Table, given: list[pa.Table]) -> int:
    """Bytes of memory that a table holds and the given tables don't; what buffers share counts once."""
    shared = spans(given)
    total = 0
    for start, end in spans([table]):
        total += end - start
        total -= sum(max(0, min(end, stop) - max(start, first)) for first, stop in shared)
    return total


def spans(tables: list[pa.Table]) -> list[tuple[int, int]]:
    """The addresses of all buffers, merged where they overlap."""
    buffers = {
        (buffer.address, buffer.address + buffer.size)
        for table in tables
        for column in table.columns
        for chunk in column.chunks
        for buffer in chunk.buffers()
        if buffer is not None and buffer.size
    }
    merged: list[tuple[int, int]] = []
    for start, end in sorted(buffers):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def air(size: int) -> None:
    """Obtain as many bytes and give them back, so that nobody is timed who is the first to have them.

    The host of a virtual machine takes back what its guest leaves unused for seconds, and gives it out again at a
    fraction of the speed of memory. Of peers in turns that would be paid by the one behind the slowest.
    """
    import numpy as np

    np.empty(size, np.uint8).fill(1)


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def kept(workload_id: str, count: int) -> dict[str, int]:
    from peers.promptpress_peer import renderer_of
    from workloads import BY_ID

    workload = BY_ID[workload_id]
    renderer, samples = renderer_of(workload), workload.samples(count)
    gc.collect()
    pa.default_memory_pool().release_unused()
    before = resident()
    answer = renderer.render(samples)
    during, size = resident(), answer["prompt"].nbytes
    del answer
    gc.collect()
    return {"samples": count, "output": size, "growth": during - before, "kept": resident() - before}


def growth(workload_id: str, count: int) -> dict[str, int]:
    from peers.promptpress_peer import BATCH_ROWS, prompt_of, renderer_of
    from texts import endless
    from workloads import BY_ID

    workload = BY_ID[workload_id]
    renderer = renderer_of(workload)
    rows = size = 0
    # Made before the first look at memory: the block that all batches are cut from.
    batches = list(endless(workload.samples(3_018), 1, BATCH_ROWS)), endless(workload.samples(3_018), count, BATCH_ROWS)
    schema = batches[0][0].schema
    before = peak = resident()
    for batch in renderer.stream(pa.RecordBatchReader.from_batches(schema, batches[1])):
        rows += batch.num_rows
        size += prompt_of(batch).nbytes
        peak = max(peak, resident())
    assert rows == count * workload.requests_per_sample
    return {"samples": count, "output": size, "growth": peak - before}


def main(arguments: list[str]) -> Any:
    return {"kept": kept, "growth": growth}[arguments[0]](arguments[1], int(arguments[2]))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
