"""promptpress beside what it replaces and beside its limit: rows a second, after equal output has been asserted.

Nothing here asserts a time: ratios and targets are the report's (report.py, targets.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from equal_output import assert_equal, assert_tail_equal
from in_turns import Sizes, Way, measured
from memory import held
from peers import samples_of
from peers.everyone import LIMITS, OTHERS, OURS
from peers.promptpress_peer import BATCH_ROWS, renderer_of
from record import Record
from workloads import BY_ID, Workload

WORKLOADS = ("zero", "five-text", "five-messages", "five-messages-view", "own-shots", "ppl", "latex", "mixed", "turns")
MOST = 1_000_000  # rows of a round


def output_bytes(workload: Workload, count: int) -> int:
    """Return the number of bytes that only the prompts hold."""
    samples = samples_of(workload.id, count)
    return held(renderer_of(workload).render(samples).select(["prompt"]), [samples])


def rows_of(workload: Workload, sizes: Sizes) -> int:
    """As many rows as fill the memory of a round, to two digits."""
    few = 3_018
    rows = min(MOST, sizes.output * few // output_bytes(workload, few))
    digits = 10 ** max(0, len(str(rows)) - 2)
    return rows // digits * digits


def ways(workload: Workload, sizes: Sizes, record: Record) -> Iterator[Way]:
    count = rows_of(workload, sizes)
    samples, size = samples_of(workload.id, count), output_bytes(workload, count)
    for limit in LIMITS:
        work = limit.prepare_bytes(size, -(-size * BATCH_ROWS // count))
        yield Way(limit.name, count, work, limit.threads, "limit", size)
    for peer in [*OURS, *(peer for peer in OTHERS if peer.id in workload.peers)]:
        why_not = peer.missing()
        if why_not and peer not in OURS:
            record.absent[peer.name] = why_not
            continue
        equal_to = assert_equal(peer, workload, sizes.compared)
        more = {"version": peer.version(), "equal_to": equal_to, "compared": sizes.compared}
        if peer in OURS:
            assert_tail_equal(peer, workload, count)
            work = peer.prepare(workload, samples)
            yield Way(peer.name, count, work, peer.threads, "ours", size, peer.before_round, more)
            continue
        prepare = lambda rows, peer=peer: peer.prepare(workload, samples.slice(0, rows))  # noqa: E731
        rows = sizes.theirs(prepare, count)
        yield Way(peer.name, rows, prepare(rows), peer.threads, "peer", size * rows // count, peer.before_round, more)


@pytest.mark.parametrize("name", WORKLOADS)
def test_rate(name: str, sizes: Sizes, record: Record) -> None:
    samples_of.cache_clear()
    workload = BY_ID[name]
    record(
        "rate",
        name,
        measured(ways(workload, sizes, record)),
        about=workload.about,
        per_row=workload.requests_per_sample,
    )
