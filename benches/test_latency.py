"""Latency: ten rows through a ready renderer, and making a renderer."""

from __future__ import annotations

from typing import Any

import promptpress
import pytest
from peers import cores, samples_of
from peers.everyone import OURS
from peers.promptpress_peer import renderer_of
from rounds import assert_equal
from workloads import BY_ID

CALL_ROWS = 10


def calls(quick: bool) -> int:
    return 100 if quick else 1_000


def told(benchmark: Any, record_property: Any, kind: str, workload_id: str) -> None:
    benchmark.extra_info.update({"kind": kind, "workload": workload_id, "about": BY_ID[workload_id].about})
    median = benchmark.stats.stats.median * 1e6
    record_property("figure", f"{workload_id:18} {kind:20} {median:14,.1f} µs")


@pytest.mark.benchmark(group="small")
@pytest.mark.parametrize("workload_id", ["zero", "five-text", "five-messages"])
def test_small(workload_id: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    workload = BY_ID[workload_id]
    assert_equal(OURS[0], workload, CALL_ROWS)
    promptpress.set_threads(cores())
    renderer, samples = renderer_of(workload), samples_of(workload_id, CALL_ROWS)
    benchmark.pedantic(renderer.render, args=(samples,), rounds=calls(quick), warmup_rounds=20)
    told(benchmark, record_property, "small", workload_id)


@pytest.mark.benchmark(group="compile")
@pytest.mark.parametrize("workload_id", ["five-text"])
def test_compile(workload_id: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    workload = BY_ID[workload_id]
    assert_equal(OURS[0], workload, CALL_ROWS)
    examples = workload.examples()
    benchmark.pedantic(
        lambda: promptpress.Renderer(**workload.config, examples=examples), rounds=calls(quick), warmup_rounds=20
    )
    told(benchmark, record_property, "compile", workload_id)
