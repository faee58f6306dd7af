"""Latency: ten rows through a ready renderer beside a bare round trip of the same arrays, and making a renderer."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import promptpress
import pyarrow as pa
import pytest
from peers import cores, samples_of
from peers.everyone import OURS
from peers.promptpress_peer import renderer_of
from rounds import Replay, assert_equal
from workloads import BY_ID

CALL_ROWS = 10
WARM_UP = 20
SMALL = ("zero", "five-text", "five-messages")


class Exported:
    """An array as another library's: pyarrow takes it over by Arrow's C data interface."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.array.__arrow_c_array__(requested_schema)


def bare(samples: pa.Table, prompts: pa.Array) -> None:
    """Make the least that a call needs: export and import the samples, then export and import the prompts."""
    pa.RecordBatchReader.from_stream(samples).read_all()
    pa.array(Exported(prompts))


def calls(quick: bool) -> int:
    return 100 if quick else 1_000


@cache
def small(workload_id: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of calls of both, in turns."""
    renderer, samples = renderer_of(BY_ID[workload_id]), samples_of(workload_id, CALL_ROWS)
    (prompts,) = renderer.render(samples)["prompt"].chunks
    ways: dict[str, Callable[[], Any]] = {
        "small": lambda: renderer.render(samples),
        "bare": lambda: bare(samples, prompts),
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in ways}
    gc.collect()
    for number in range(WARM_UP + rounds):
        for kind, work in ways.items():
            start = time.perf_counter()
            work()
            took = time.perf_counter() - start
            if number >= WARM_UP:
                seconds[kind].append(took)
    return seconds


def report_seconds(benchmark: Any, record_property: Any, kind: str, workload_id: str) -> None:
    benchmark.extra_info.update({"kind": kind, "workload": workload_id, "about": BY_ID[workload_id].about})
    median = benchmark.stats.stats.median * 1e6
    record_property("figure", f"{workload_id:18} {kind:20} {median:14,.1f} µs")


@pytest.mark.parametrize(
    ("workload_id", "kind", "replay"),
    [
        pytest.param(
            workload_id, kind, replay, id=f"{workload_id}-{kind}", marks=pytest.mark.benchmark(group=kind, timer=replay)
        )
        for workload_id in SMALL
        for kind, replay in (("small", Replay()), ("bare", Replay()))
    ],
)
def test_small(
    workload_id: str, kind: str, replay: Replay, *, quick: bool, benchmark: Any, record_property: Any
) -> None:
    assert_equal(OURS[0], BY_ID[workload_id], CALL_ROWS)
    promptpress.set_threads(cores())
    replay.seconds = list(small(workload_id, calls(quick))[kind])
    benchmark.pedantic(replay.play, rounds=calls(quick))
    report_seconds(benchmark, record_property, kind, workload_id)


@pytest.mark.benchmark(group="compile")
@pytest.mark.parametrize("workload_id", ["five-text"])
def test_compile(workload_id: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    workload = BY_ID[workload_id]
    assert_equal(OURS[0], workload, CALL_ROWS)
    examples = workload.examples()
    benchmark.pedantic(
        lambda: promptpress.Renderer(**workload.config, examples=examples), rounds=calls(quick), warmup_rounds=WARM_UP
    )
    report_seconds(benchmark, record_property, "compile", workload_id)
