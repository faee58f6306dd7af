"""The cost of spans and of an audit beside rendering, in turns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from in_turns import Sizes, Way, measured, ours
from peers import samples_of
from peers.promptpress_peer import renderer_of
from record import Record
from workloads import BY_ID

ROWS = 200_000


def ways(workload: str, count: int) -> Iterator[Way]:
    renderer, samples = renderer_of(BY_ID[workload]), samples_of(workload, count)
    plain, spans = renderer.render(samples), renderer.render(samples, spans=True)
    assert spans.drop_columns(["spans"]).equals(plain)
    codes = renderer.audit(samples)["code"].to_pylist()
    # The samples are some thousand rows again and again, and the examples are rows of the same table.
    assert "duplicate_samples" in codes
    assert ("own_example_row" in codes) == workload.startswith("five")
    size = spans.nbytes
    del plain, spans
    yield from ours("render", count, lambda: renderer.render(samples), bytes=size)
    yield from ours("render with spans", count, lambda: renderer.render(samples, spans=True), bytes=size)
    yield from ours("audit", count, lambda: renderer.audit(samples), bytes=size)


@pytest.mark.parametrize("workload", ["zero", "five-text", "five-messages"])
def test_span_and_audit_rate(workload: str, sizes: Sizes, record: Record) -> None:
    samples_of.cache_clear()
    record("spans", workload, measured(ways(workload, sizes.ours(ROWS))))
