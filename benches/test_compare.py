"""promptpress beside what it replaces: rows a second, after equal output has been asserted.

    pytest benches [--quick] [--without-ours] [-k zero] --benchmark-json=FILE

Nothing here asserts a time: ratios and targets are the report's (report.py).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pytest
from peers import Peer
from peers.opencompass import OpenCompass
from peers.plain_python import PlainPython
from peers.promptpress_peer import Promptpress, cores
from workloads import WORKLOADS, Workload

OURS = [Promptpress("promptpress", cores())] + ([Promptpress("promptpress-1", 1)] if cores() > 1 else [])
OTHERS: list[Peer] = [OpenCompass(), PlainPython()]  # the first that can render a workload is the oracle
ROUNDS = 3
FAST = 100_000  # rows/s from which a peer gets as many samples as promptpress
PILOT = 1_000  # samples to find that out
TAIL = 200  # samples compared at the end of what was timed


class Sizes:
    """How many samples are compared and timed."""

    def __init__(self, quick: bool) -> None:
        self.compared = 300 if quick else 3_018
        self.ours = 100_000 if quick else 1_000_000
        self.slow = 2_000 if quick else 20_000
        self.seconds = 2 if quick else 10  # a round of a peer takes no longer than about this


def pairs() -> list[Any]:
    return [
        pytest.param(workload, peer, id=f"{workload.id}-{peer.id}", marks=pytest.mark.benchmark(group=workload.id))
        for workload in WORKLOADS
        for peer in [*OURS, *OTHERS]
        if peer in OURS or peer.id in workload.peers
    ]


@lru_cache(maxsize=2)
def samples_of(workload_id: str, count: int) -> pa.Table:
    return next(workload for workload in WORKLOADS if workload.id == workload_id).samples(count)


def oracle_of(workload: Workload) -> Peer | None:
    return next((peer for peer in OTHERS if peer.id in workload.peers and peer.missing() is None), None)


@lru_cache(maxsize=1)
def expected(workload_id: str, count: int) -> tuple[str, list[Any]] | None:
    """The oracle's name and its requests for the first samples."""
    workload = next(workload for workload in WORKLOADS if workload.id == workload_id)
    oracle = oracle_of(workload)
    return None if oracle is None else (oracle.id, answer_of(oracle, workload, count))


def answer_of(peer: Peer, workload: Workload, count: int) -> list[Any]:
    return peer.requests(workload, peer.prepare(workload, samples_of(workload.id, count))())


def assert_equal(peer: Peer, workload: Workload, count: int) -> str | None:
    """Every request equals the oracle's, to the byte; returns the oracle's name (None: there is no other peer)."""
    found = expected(workload.id, count)
    if found is None:
        return None
    oracle, wanted = found
    if oracle == peer.id:
        return oracle
    got = answer_of(peer, workload, count)
    assert len(got) == len(wanted) == count * workload.requests_per_sample
    for row, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
        assert ours == theirs, (
            f"{workload.id}: {peer.id} differs from {oracle} in sample {row // workload.requests_per_sample}"
        )
    return oracle


def assert_tail_equal(workload: Workload, samples: pa.Table, answer: pa.Table) -> None:
    """The whole table has been rendered, and its end, past any change of chunk or offset, is right."""
    per_sample, oracle = workload.requests_per_sample, oracle_of(workload)
    assert answer.num_rows == samples.num_rows * per_sample
    if oracle is not None:
        start = samples.num_rows - TAIL
        wanted = oracle.requests(workload, oracle.prepare(workload, samples.slice(start))())
        assert OURS[0].requests(workload, answer.slice(start * per_sample)) == wanted


def samples_to_time(peer: Peer, workload: Workload, sizes: Sizes) -> int:
    if peer in OURS:
        return sizes.ours
    work = peer.prepare(workload, samples_of(workload.id, PILOT))
    work()
    start = time.perf_counter()
    work()
    rate = PILOT / (time.perf_counter() - start)
    return min(sizes.ours if rate >= FAST else sizes.slow, max(PILOT, int(rate * sizes.seconds)))


@pytest.mark.parametrize(("workload", "peer"), pairs())
def test_rate(workload: Workload, peer: Peer, quick: bool, benchmark: Any, record_property: Any) -> None:
    why_not = peer.missing()
    if why_not and peer in OURS:
        pytest.fail(why_not)
    if why_not:
        pytest.skip(why_not)
    sizes = Sizes(quick)
    oracle = assert_equal(peer, workload, sizes.compared)
    count = samples_to_time(peer, workload, sizes)
    work = peer.prepare(workload, samples_of(workload.id, count))
    answers: list[Any] = []

    def drop_answer() -> None:  # before each round and not in it: what memory costs to give back isn't rendering
        answers.clear()

    benchmark.pedantic(
        lambda: answers.append(work()), setup=drop_answer, rounds=ROUNDS, warmup_rounds=1 if peer in OURS else 0
    )
    if peer in OURS:
        assert_tail_equal(workload, samples_of(workload.id, count), answers[-1])
    benchmark.extra_info.update(
        {
            "workload": workload.id,
            "about": workload.about,
            "peer": peer.id,
            "ours": peer in OURS,
            "version": peer.version(),
            "threads": peer.threads,
            "samples": count,
            "requests": count * workload.requests_per_sample,
            "bytes": answers[-1]["prompt"].nbytes if peer in OURS else None,
            "equal_to": oracle,
            "compared": sizes.compared,
            "targets": workload.targets,
        }
    )
    seconds = benchmark.stats.stats.median
    record_property(
        "rate", f"{workload.id:14} {peer.id:14} {count / seconds:12,.0f} rows/s  ({count:,} in {seconds:.3f} s)"
    )
