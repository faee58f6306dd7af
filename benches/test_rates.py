"""promptpress beside what it replaces and beside its limit: rows a second, after equal output has been asserted.

Nothing here asserts a time: ratios and targets are the report's (report.py, targets.py).
"""

from __future__ import annotations

from typing import Any

import pytest
from limit import CopyLimit
from peers import Peer
from peers.everyone import LIMITS, OURS, peers_of
from rounds import ROUNDS, Measured, Replay, Sizes, measure
from workloads import WORKLOADS, Workload


def pairs() -> list[Any]:
    return [
        pytest.param(
            workload,
            peer,
            replay,
            id=f"{workload.id}-{peer.id}",
            marks=pytest.mark.benchmark(group=workload.id, timer=replay),
        )
        for workload in WORKLOADS
        for peer, replay in ((peer, Replay()) for peer in peers_of(workload.id))
    ]


measured: dict[str, dict[str, Measured]] = {}  # of the workload that is under way


def rounds_of(workload: Workload, peer: Peer, request: pytest.FixtureRequest, sizes: Sizes) -> Measured:
    """The peer's rounds; the first test of a workload runs those of all its peers that this session has tests for."""
    if workload.id not in measured:
        measured.clear()
        chosen = [
            item.callspec.params["peer"]
            for item in request.session.items
            if getattr(item, "callspec", None) and item.callspec.params.get("workload") is workload
        ]
        measured[workload.id] = measure(workload, [peer for peer in chosen if peer.missing() is None], sizes)
    return measured[workload.id][peer.id]


@pytest.mark.parametrize(("workload", "peer", "replay"), pairs())
def test_rate(  # noqa: PLR0917 - fixtures
    workload: Workload,
    peer: Peer,
    replay: Replay,
    quick: bool,
    benchmark: Any,
    record_property: Any,
    request: pytest.FixtureRequest,
) -> None:
    why_not = peer.missing()
    if why_not and peer in OURS:
        pytest.fail(why_not)
    if why_not:
        pytest.skip(why_not)
    sizes = Sizes(quick)
    result = rounds_of(workload, peer, request, sizes)
    if result.error is not None:
        raise result.error
    replay.seconds = list(result.seconds)
    benchmark.pedantic(replay.play, rounds=ROUNDS)
    benchmark.extra_info.update(
        {
            "kind": "rate",
            "workload": workload.id,
            "about": workload.about,
            "peer": peer.id,
            "name": peer.name,
            "role": "ours" if peer in OURS else "limit" if peer in LIMITS else "peer",
            "version": peer.version(),
            "threads": peer.threads,
            "samples": result.samples,
            "requests": result.samples * workload.requests_per_sample,
            "bytes": result.bytes,
            "equal_to": result.equal_to,
            "compared": None if isinstance(peer, CopyLimit) else sizes.compared,
        }
    )
    seconds, count = benchmark.stats.stats.median, result.samples
    record_property(
        "figure", f"{workload.id:18} {peer.id:20} {count / seconds:14,.0f} rows/s  ({count:,} in {seconds:.3f} s)"
    )
