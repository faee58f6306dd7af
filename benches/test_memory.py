"""Memory: of string views, kept after a render, and grown by over a long stream."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from memory import held, in_process
from peers.promptpress_peer import renderer_of
from workloads import BY_ID

linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


def report_memory(record_property: Any, what: str, figures: dict[str, int]) -> None:
    values = ", ".join(
        f"{name} {value:,}" if name == "samples" else f"{name} {value / 1e6:,.1f} MB" for name, value in figures.items()
    )
    record_property("figure", f"{what:39} {values}")


def test_string_views(quick: bool, benchmark: Any, record_property: Any) -> None:
    views, copies = BY_ID["five-messages-view"], BY_ID["five-messages"]
    samples = views.samples(10_000 if quick else 1_000_000)

    def compared() -> dict[str, int]:
        figures = {"samples": samples.num_rows}
        for name, workload in (("views", views), ("copies", copies)):
            given = [samples, workload.examples()]
            figures[name] = held(renderer_of(workload).render(samples).select(["prompt"]), given)
        return figures

    figures = benchmark.pedantic(compared, rounds=1)
    benchmark.extra_info.update({"kind": "views", "workload": views.id, **figures})
    report_memory(record_property, "five-messages: memory of the output", figures)


@linux
@pytest.mark.parametrize("workload_id", ["zero", "five-text"])
def test_kept_after_render(workload_id: str, quick: bool, benchmark: Any, record_property: Any) -> None:
    count = 20_000 if quick else 1_000_000
    figures = benchmark.pedantic(in_process, args=("kept", workload_id, count), rounds=1)
    benchmark.extra_info.update({"kind": "kept", "workload": workload_id, **figures})
    report_memory(record_property, f"{workload_id}: after a render is dropped", figures)


@linux
@pytest.mark.long
def test_growth_over_a_long_stream(quick: bool, benchmark: Any, record_property: Any) -> None:
    count = 500_000 if quick else 100_000_000
    figures = benchmark.pedantic(in_process, args=("growth", "zero", count), rounds=1)
    benchmark.extra_info.update({"kind": "growth", "workload": "zero", **figures})
    report_memory(record_property, "zero: over a long stream", figures)
