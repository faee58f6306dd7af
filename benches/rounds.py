"""One workload's rounds: the peers take turns, so that what disturbs the machine disturbs all of them.

pytest-benchmark times one function after the other. So the rounds are run and timed here, all peers of a workload in
turns, and each test then reports its peer's rounds through pytest-benchmark: `Replay` is a timer that tells the times
that were measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pytest
from limit import CopyLimit
from memory import air, held
from peers import Peer, forget, samples_of
from peers.everyone import OTHERS, OURS
from peers.promptpress_peer import BATCH_ROWS, renderer_of, requests_of
from workloads import BY_ID, Workload

ROUNDS = 3
FAST_ROWS_PER_SECOND = 100_000  # rows/s from which a peer gets as many samples as promptpress
TAIL_REQUESTS = 200  # requests compared at the end of what was timed


class Sizes:
    """The numbers of samples that are compared and timed."""

    def __init__(self, quick: bool) -> None:
        self.compared = 200 if quick else 3_018
        self.ours = 20_000 if quick else 1_000_000
        self.slow = 1_000 if quick else 20_000
        self.pilot = 200 if quick else 1_000  # samples to find out which of the two, at first


@dataclass
class Measured:
    """One peer's rounds over one workload."""

    peer: Peer
    samples: int = 0
    aired: int = 0  # bytes
    seconds: list[float] = field(default_factory=list)
    bytes: int | None = None
    equal_to: str | None = None
    error: BaseException | None = None
    work: Callable[[], Any] = lambda: None

    def round(self) -> Any:
        self.peer.before_round()
        air(self.aired)
        start = time.perf_counter()
        answer = self.work()
        self.seconds.append(time.perf_counter() - start)
        return answer


class Replay:
    """A timer for pytest-benchmark that tells times measured before: `play` lasts as long as the next of them."""

    __name__ = "perf_counter, peers in turns"

    def __init__(self) -> None:
        self.now = 0.0
        self.seconds: list[float] = []

    def __call__(self) -> float:
        return self.now

    def play(self) -> None:
        self.now += self.seconds.pop(0)


def measure(workload: Workload, peers: list[Peer], sizes: Sizes) -> dict[str, Measured]:
    """Compare and time the peers; what goes wrong with one is kept with it and stops no other."""
    forget()
    done = {peer.id: Measured(peer) for peer in peers}
    ready = [measured for measured in done.values() if attempt(measured, lambda f: prepare(f, workload, sizes))]
    for measured in ready:
        measured.seconds.clear()  # the warm-up's
    gc.collect()
    gc.freeze()  # millions of rows as dicts, which the collector would walk again and again
    try:
        for _ in range(ROUNDS):
            ready = [measured for measured in ready if attempt(measured, lambda f: one_round(f, workload))]
    finally:
        gc.unfreeze()
        for measured in done.values():
            measured.work = lambda: None
    return done


def attempt(measured: Measured, step: Callable[[Measured], None]) -> bool:
    try:
        step(measured)
    except Exception as error:
        measured.error = error
    return measured.error is None


def prepare(measured: Measured, workload: Workload, sizes: Sizes) -> None:
    peer = measured.peer
    if isinstance(peer, CopyLimit):
        measured.samples = sizes.ours
        measured.bytes = measured.aired = output_bytes(workload.id, sizes.ours)
        measured.work = peer.prepare_bytes(measured.bytes, -(-measured.bytes * BATCH_ROWS // sizes.ours))
        measured.round()
        return
    measured.equal_to = assert_equal(peer, workload, sizes.compared)
    measured.samples = samples_to_time(peer, workload, sizes)
    measured.work = peer.prepare(workload, samples_of(workload.id, measured.samples))
    if peer in OURS:
        measured.bytes = output_bytes(workload.id, measured.samples)
    if measured.samples == sizes.ours:
        measured.aired = output_bytes(workload.id, sizes.ours)
        measured.round()


def one_round(measured: Measured, workload: Workload) -> None:
    answer = measured.round()
    if len(measured.seconds) == ROUNDS and measured.peer in OURS:
        assert_tail_equal(measured, workload, answer)


@lru_cache(maxsize=1)
def output_bytes(workload_id: str, count: int) -> int:
    """Return the number of bytes that only the prompts of promptpress hold."""
    samples = samples_of(workload_id, count)
    return held(renderer_of(BY_ID[workload_id]).render(samples).select(["prompt"]), [samples])


def samples_to_time(peer: Peer, workload: Workload, sizes: Sizes) -> int:
    """As many as promptpress for a fast peer; whether it is fast is seen on few samples, or on more when in doubt."""
    if peer in OURS:
        return sizes.ours
    for count in (sizes.pilot, sizes.pilot, sizes.slow):  # the first time may hold what is done but once
        work = peer.prepare(workload, samples_of(workload.id, count))
        start = time.perf_counter()
        work()
        rate = count / (time.perf_counter() - start)
        if rate >= FAST_ROWS_PER_SECOND:
            return sizes.ours
        if rate < FAST_ROWS_PER_SECOND / 50:
            break
    return sizes.slow


# ---------------------------------------------------------------------------------------------------------------------
# Equal output, before anything is timed and at the end of what was.


def oracle_of(workload: Workload) -> Peer | None:
    return next((peer for peer in OTHERS if peer.id in workload.peers and peer.missing() is None), None)


@lru_cache(maxsize=1)
def expected(workload_id: str, count: int) -> tuple[str, list[Any]] | None:
    """The oracle's name and its requests for the first samples."""
    workload = BY_ID[workload_id]
    oracle = oracle_of(workload)
    return None if oracle is None else (oracle.id, answer_of(oracle, workload, count))


def answer_of(peer: Peer, workload: Workload, count: int) -> list[Any]:
    peer.before_round()
    return peer.requests(workload, peer.prepare(workload, samples_of(workload.id, count))())


def assert_equal(peer: Peer, workload: Workload, count: int) -> str | None:
    """Every request equals the oracle's, to the byte; returns the oracle's id (None: there is no other peer)."""
    oracle_and_answer = expected(workload.id, count)
    if oracle_and_answer is None:
        return None
    oracle, wanted = oracle_and_answer
    if oracle == peer.id:
        return oracle
    got = answer_of(peer, workload, count)
    assert len(got) == len(wanted) == count * workload.requests_per_sample
    for row, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
        assert ours == theirs, (
            f"{workload.id}: {peer.id} differs from {oracle} in sample {row // workload.requests_per_sample}"
        )
    return oracle


def assert_tail_equal(measured: Measured, workload: Workload, answer: Any) -> None:
    """All has been rendered, and its end, past any change of chunk or offset, is right."""
    per_sample, oracle, peer = workload.requests_per_sample, oracle_of(workload), measured.peer
    rows, last = peer.last(answer, TAIL_REQUESTS * per_sample)
    assert rows == measured.samples * per_sample, f"{workload.id}: {rows} requests of {measured.samples} samples"
    if oracle is not None:
        tail = samples_of(workload.id, measured.samples).slice(measured.samples - last.num_rows // per_sample)
        wanted = oracle.requests(workload, oracle.prepare(workload, tail)())
        assert requests_of(workload, last.column("prompt")) == wanted, f"{workload.id}: {peer.id} differs at its end"


def by_program(cases: Iterable[tuple[str, str, Replay]], group: str) -> pytest.MarkDecorator:
    """Run a bench for each workload and program, in a group of pytest-benchmark."""
    parameters = [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group=group, timer=case[2]))
        for case in cases
    ]
    return pytest.mark.parametrize(("workload_id", "program", "replay"), parameters)
