"""The cost of braces: mathematical text is compared with plain text by the byte, in turns.

As rates of two workloads they would be measured a quarter of an hour apart, and memory is at times twice as slow.
"""

from __future__ import annotations

import time
from typing import Any

import promptpress
import pytest
from memory import air
from peers import cores, samples_of
from peers.everyone import OURS
from peers.promptpress_peer import BATCH_ROWS, renderer_of
from rounds import Replay, Sizes, assert_equal, output_bytes
from workloads import BY_ID

WORKLOADS = ["zero", "latex"]
WAYS = ["render", "stream"]
ROUNDS = 7
replays = {(way, workload_id): Replay() for way in WAYS for workload_id in WORKLOADS}
measured: dict[tuple[str, str], list[float]] = {}  # seconds of the rounds


def seconds(way: str, workload_id: str, count: int) -> float:
    renderer, samples = renderer_of(BY_ID[workload_id]), samples_of(workload_id, count)
    start = time.perf_counter()
    if way == "render":
        answer = renderer.render(samples)
        elapsed = time.perf_counter() - start
        assert answer.num_rows == count
        return elapsed
    rows = sum(batch.num_rows for batch in renderer.stream(samples.to_reader(BATCH_ROWS)))
    elapsed = time.perf_counter() - start
    assert rows == count
    return elapsed


def measure(compared: int, count: int) -> None:
    for workload_id in WORKLOADS:
        assert_equal(OURS[0], BY_ID[workload_id], compared)
    promptpress.set_threads(cores())
    sizes = {workload_id: output_bytes(workload_id, count) for workload_id in WORKLOADS}
    for _ in range(ROUNDS):
        for way, workload_id in replays:
            seconds(way, workload_id, count)  # what the other left behind is of another size
            air(sizes[workload_id])
            measured.setdefault((way, workload_id), []).append(seconds(way, workload_id, count))


@pytest.mark.parametrize(
    ("way", "workload_id"),
    [pytest.param(*key, marks=pytest.mark.benchmark(group="braces", timer=replay)) for key, replay in replays.items()],
)
def test_braces(way: str, workload_id: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    sizes = Sizes(quick)
    count = sizes.ours
    if not measured:
        measure(sizes.compared, count)
    replays[way, workload_id].seconds = list(measured[way, workload_id])
    benchmark.pedantic(replays[way, workload_id].play, rounds=ROUNDS)
    size = output_bytes(workload_id, count)
    benchmark.extra_info.update(
        {"kind": "braces", "workload": workload_id, "way": way, "samples": count, "bytes": size}
    )
    rate = size / benchmark.stats.stats.median
    record_property("figure", f"{workload_id:18} {'braces, ' + way:20} {rate / 1e9:14,.2f} GB/s")
