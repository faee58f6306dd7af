"""Compiled Jinja templates over tables, beside jinja2, minijinja-py, and `Renderer` where it makes the same texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promptpress
import pytest
from in_turns import Way, measured, names_of, ours, replayed
from jinja_workloads import JINJA_BY_ID, JINJA_WORKLOADS, JinjaWorkload
from peers import samples_of
from rounds import Replay

jinja2 = pytest.importorskip("jinja2")
minijinja = pytest.importorskip("minijinja")

CASES = [
    (workload.id, name, Replay())
    for workload in JINJA_WORKLOADS
    for name in names_of(["template", *(["renderer"] if workload.renderer else [])], ["jinja2", "minijinja"])
]
ways_of: dict[str, dict[str, Way]] = {}


def ways(workload: JinjaWorkload, count: int, few: int) -> Iterator[Way]:
    samples = workload.samples(count)
    template = promptpress.JinjaTemplate(workload.source)
    yield from ours("template", count, lambda: template.render(samples))
    if workload.renderer is not None:
        renderer = promptpress.Renderer(**workload.renderer)
        yield from ours("renderer", count, lambda: renderer.render(samples))
        assert template.render(samples)["prompt"].equals(renderer.render(samples)["prompt"])
    rows = samples.slice(0, few).to_pylist()
    theirs = jinja2.Environment().from_string(workload.source).render
    environment = minijinja.Environment(templates={"prompt": workload.source})
    yield Way("jinja2", few, lambda: [theirs(row) for row in rows])
    yield Way("minijinja", few, lambda: [environment.render_template("prompt", **row) for row in rows])
    texts = template.render(samples)["prompt"].slice(0, few).to_pylist()
    assert texts == [theirs(row) for row in rows] == [environment.render_template("prompt", **row) for row in rows]
    run = template.last_run
    assert run is not None
    assert run.jinja2 == 0, "what is timed is compiled"


@pytest.mark.parametrize(
    ("workload_id", "name", "replay"),
    [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group=f"jinja-{case[0]}", timer=case[2]))
        for case in CASES
    ],
)
def test_jinja_rate(  # noqa: PLR0917 - fixtures
    workload_id: str, name: str, replay: Replay, quick: bool, benchmark: Any, record_property: Any
) -> None:
    if workload_id not in ways_of:
        samples_of.cache_clear()
        ways_of[workload_id] = measured(
            list(ways(JINJA_BY_ID[workload_id], *((20_000, 1_000) if quick else (500_000, 10_000))))
        )
    rate = replayed(ways_of[workload_id][name], replay, benchmark, kind="jinja", workload=workload_id)
    per_cpu = ways_of[workload_id][name].rows / benchmark.extra_info["cpu_seconds"]
    record_property(
        "figure", f"{workload_id:18} {'Jinja: ' + name:20} {rate:14,.0f} rows/s {per_cpu:14,.0f} a CPU second"
    )
