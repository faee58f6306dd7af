"""The cost of spans: rendering with spans is compared with rendering without, in turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from in_turns import Way, measured, names_of, ours, replayed
from peers import samples_of
from peers.promptpress_peer import renderer_of
from rounds import Replay
from workloads import BY_ID

WORKLOADS = ["zero", "five-text", "five-messages"]
WAYS = ["plain", "spans"]
CASES = [(workload, name, Replay()) for workload in WORKLOADS for name in names_of(WAYS, [])]
ways_of: dict[str, dict[str, Way]] = {}


def ways(workload: str, count: int) -> Iterator[Way]:
    renderer, samples = renderer_of(BY_ID[workload]), samples_of(workload, count)
    plain, spans = renderer.render(samples), renderer.render(samples, spans=True)
    assert spans.drop_columns(["spans"]).equals(plain)
    del plain, spans
    yield from ours("plain", count, lambda: renderer.render(samples))
    yield from ours("spans", count, lambda: renderer.render(samples, spans=True))


@pytest.mark.parametrize(
    ("workload_id", "name", "replay"),
    [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group=f"spans-{case[0]}", timer=case[2]))
        for case in CASES
    ],
)
def test_span_rate(  # noqa: PLR0917 - fixtures
    workload_id: str, name: str, replay: Replay, quick: bool, benchmark: Any, record_property: Any
) -> None:
    if workload_id not in ways_of:
        samples_of.cache_clear()
        ways_of[workload_id] = measured(list(ways(workload_id, 20_000 if quick else 300_000)))
    rate = replayed(ways_of[workload_id][name], replay, benchmark, kind="spans", workload=workload_id)
    record_property("figure", f"{workload_id:18} {'spans: ' + name:20} {rate:14,.0f} rows/s")
