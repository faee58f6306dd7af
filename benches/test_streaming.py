"""Streaming: what a byte costs in a long stream, beside a short one. Samples are generated on the fly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import promptpress
import pyarrow as pa
import pytest
from peers import cores
from peers.promptpress_peer import BATCH_ROWS, prompt_of, renderer_of
from rounds import ROUNDS, Replay
from texts import endless
from workloads import BY_ID

WORKLOAD = "zero"
STREAM_MILLIONS = {"short": 1, "long": 10}  # in millions
replays = {length: Replay() for length in STREAM_MILLIONS}
measured: dict[str, tuple[list[float], int]] = {}  # seconds of the rounds, bytes


def batches(count: int) -> Iterator[pa.RecordBatch]:
    return endless(BY_ID[WORKLOAD].samples(3_018), count, BATCH_ROWS)


def stream(renderer: Any, count: int) -> tuple[float, int]:
    samples = pa.RecordBatchReader.from_batches(next(batches(1)).schema, batches(count))
    rows = size = 0
    start = time.perf_counter()
    for batch in renderer.stream(samples):
        rows += batch.num_rows
        size += prompt_of(batch).nbytes
    seconds = time.perf_counter() - start
    assert rows == count
    return seconds, size


def measure(million: int) -> None:
    promptpress.set_threads(cores())
    renderer = renderer_of(BY_ID[WORKLOAD])
    stream(renderer, million)
    for _ in range(ROUNDS):
        for length, factor in STREAM_MILLIONS.items():
            seconds, size = stream(renderer, factor * million)
            measured.setdefault(length, ([], size))[0].append(seconds)


@pytest.mark.parametrize(
    "length",
    [
        pytest.param(length, marks=pytest.mark.benchmark(group="streaming", timer=replay))
        for length, replay in replays.items()
    ],
)
def test_cost_of_a_byte(length: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    million = 100_000 if quick else 1_000_000
    if not measured:
        measure(million)
    seconds, size = measured[length]
    replays[length].seconds = list(seconds)
    benchmark.pedantic(replays[length].play, rounds=ROUNDS)
    count = STREAM_MILLIONS[length] * million
    benchmark.extra_info.update(
        {
            "kind": "streaming",
            "workload": WORKLOAD,
            "length": length,
            "samples": count,
            "bytes": size,
            "batch": BATCH_ROWS,
        }
    )
    median = benchmark.stats.stats.median
    record_property(
        "figure", f"{WORKLOAD:18} {'stream, ' + length:20} {median / size * 1e12:14,.1f} ps a byte ({count:,})"
    )
