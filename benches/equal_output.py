"""Equal output, asserted before anything is timed: the first requests to the byte, and the last ones of all samples."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from peers import Peer, samples_of
from peers.everyone import OTHERS
from peers.promptpress_peer import requests_of
from workloads import BY_ID, Workload

TAIL = 200  # samples compared at the end of what is timed


def oracle_of(workload: Workload) -> Peer | None:
    return next((peer for peer in OTHERS if peer.id in workload.peers and peer.missing() is None), None)


@lru_cache(maxsize=1)
def expected(workload_id: str, count: int) -> tuple[str, list[Any]] | None:
    """The oracle's name and its requests for the first samples."""
    workload = BY_ID[workload_id]
    oracle = oracle_of(workload)
    return None if oracle is None else (oracle.name, answer_of(oracle, workload, count))


def answer_of(peer: Peer, workload: Workload, count: int) -> list[Any]:
    peer.before_round()
    return peer.requests(workload, peer.prepare(workload, samples_of(workload.id, count))())


def assert_equal(peer: Peer, workload: Workload, count: int) -> str | None:
    """Every request equals the oracle's, to the byte; returns the oracle's name (None: there is no other peer)."""
    oracle_and_answer = expected(workload.id, count)
    if oracle_and_answer is None:
        return None
    oracle, wanted = oracle_and_answer
    if oracle == peer.name:
        return oracle
    got = answer_of(peer, workload, count)
    assert len(got) == len(wanted) == count * workload.requests_per_sample
    for row, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
        assert ours == theirs, (
            f"{workload.id}: {peer.name} differs from {oracle} in sample {row // workload.requests_per_sample}"
        )
    return oracle


def assert_tail_equal(peer: Any, workload: Workload, count: int) -> None:
    """All has been rendered, and its end, past any change of chunk or offset, is right."""
    per_sample, oracle, samples = workload.requests_per_sample, oracle_of(workload), samples_of(workload.id, count)
    peer.before_round()
    rows, last = peer.last(peer.prepare(workload, samples)(), TAIL * per_sample)
    assert rows == count * per_sample, f"{workload.id}: {rows} requests of {count} samples"
    if oracle is not None:
        tail = samples.slice(count - last.num_rows // per_sample)
        wanted = oracle.requests(workload, oracle.prepare(workload, tail)())
        assert requests_of(workload, last.column("prompt")) == wanted, f"{workload.id}: {peer.name} differs at its end"
