"""The audit beside rendering: how many times as long it takes for the same table."""

from __future__ import annotations

import time
from typing import Any

import promptpress
import pytest
from peers import cores
from peers.promptpress_peer import renderer_of
from rounds import ROUNDS, Replay
from workloads import BY_ID

WORKLOADS = ("zero", "five-text", "five-messages")
replays = {name: Replay() for name in WORKLOADS}


def seconds_of(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.benchmark(group="audit", timer=replay)) for name, replay in replays.items()],
)
def test_audit_costs_little_more_than_rendering(name: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    count = 50_000 if quick else 500_000
    promptpress.set_threads(cores())
    renderer, samples = renderer_of(BY_ID[name]), BY_ID[name].samples(count)
    codes = renderer.audit(samples)["code"].to_pylist()
    # The samples are some thousand rows again and again, and the examples are rows of the same table.
    assert "duplicate_samples" in codes
    assert ("own_example_row" in codes) == name.startswith("five")
    rendering = []
    for _ in range(ROUNDS):
        rendering.append(seconds_of(lambda: renderer.render(samples)))
        replays[name].seconds.append(seconds_of(lambda: renderer.audit(samples)))
    benchmark.pedantic(replays[name].play, rounds=ROUNDS)
    factor = benchmark.stats.stats.median / sorted(rendering)[ROUNDS // 2]
    benchmark.extra_info.update({"kind": "audit", "workload": name, "samples": count, "times_rendering": factor})
    record_property("figure", f"{name:18} audit {factor:14.1f} times as long as rendering ({count:,})")
