"""Memory: of string views, kept after a render, and grown by over a stream."""

from __future__ import annotations

import sys

import pytest
from in_turns import Sizes
from memory import held, in_process
from peers.promptpress_peer import renderer_of
from record import Record
from workloads import BY_ID

linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


def test_string_views(sizes: Sizes, record: Record) -> None:
    views, copies = BY_ID["five-messages-view"], BY_ID["five-messages"]
    samples = views.samples(sizes.ours(200_000))
    figures = {}
    for name, workload in (("views", views), ("copies", copies)):
        given = [samples, workload.examples()]
        figures[name] = held(renderer_of(workload).render(samples).select(["prompt"]), given)
    record.figures("views", views.id, samples=samples.num_rows, **figures)


@linux
@pytest.mark.parametrize(("kind", "count"), [("kept", 1_000_000), ("growth", 50_000_000)])
def test_resident_memory(kind: str, count: int, sizes: Sizes, record: Record) -> None:
    record.figures(kind, "zero", **in_process(kind, "zero", sizes.ours(count)))
