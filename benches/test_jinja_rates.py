"""Compiled Jinja templates over tables, beside jinja2, minijinja-py, and `Renderer` where it makes the same texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jinja2
import minijinja
import promptpress
import pytest
from in_turns import Sizes, Way, measured, ours
from jinja_workloads import FILTERS, JINJA_BY_ID, NOT_COMPILED, JinjaWorkload, listed
from record import Record

ROWS = 500_000


def ways(workload: JinjaWorkload, sizes: Sizes) -> Iterator[Way]:
    count = sizes.ours(ROWS)
    samples = workload.samples(count)
    template = promptpress.JinjaTemplate(workload.source)
    prompts = template.render(samples)["prompt"]
    yield from ours("JinjaTemplate", count, lambda: template.render(samples), bytes=prompts.nbytes)
    if workload.renderer is not None:
        renderer = promptpress.Renderer(**workload.renderer)
        yield from ours("Renderer", count, lambda: renderer.render(samples), bytes=prompts.nbytes)
        assert prompts.equals(renderer.render(samples)["prompt"])
    environment = minijinja.Environment(templates={"prompt": workload.source})
    peers: dict[str, Callable[[Any], str]] = {
        "jinja2": jinja2.Environment().from_string(workload.source).render,
        "minijinja": lambda row: environment.render_template("prompt", **row),
    }
    for name, render in peers.items():

        def prepare(few: int, render: Callable[[Any], str] = render) -> Callable[[], list[str]]:
            rows = samples.slice(0, few).to_pylist()
            return lambda: [render(row) for row in rows]

        rows = sizes.theirs(prepare, count)
        assert prepare(sizes.compared)() == prompts.slice(0, sizes.compared).to_pylist()
        yield Way(name, rows, prepare(rows))
    run = template.last_run
    assert run is not None
    assert run.jinja2 == 0, "what is timed is compiled"


@pytest.mark.parametrize("workload_id", JINJA_BY_ID)
def test_jinja_rate(workload_id: str, sizes: Sizes, record: Record) -> None:
    record("jinja", workload_id, measured(ways(JINJA_BY_ID[workload_id], sizes)))


@pytest.mark.parametrize("name", [*FILTERS, "not compiled"])
def test_filter_rate(name: str, sizes: Sizes, record: Record) -> None:
    """A filter alone, beside jinja2."""
    source = FILTERS.get(name, NOT_COMPILED)
    template, compiled = promptpress.JinjaTemplate(source), jinja2.Environment().from_string(source)
    count = sizes.ours(20_000 if name in FILTERS else 4_000)
    samples = listed(count)
    rows = samples.to_pylist()
    assert template.render(samples)["prompt"].to_pylist() == [compiled.render(row) for row in rows]
    run = template.last_run
    assert run is not None
    # Words with hyphens are wrapped as the interpreter's version does it: by itself.
    assert (run.jinja2 < count / 20) == (name in FILTERS)
    ways = [Way("JinjaTemplate", count, lambda: template.render(samples), 1, "ours")]
    record("filters", name, measured([*ways, Way("jinja2", count, lambda: [compiled.render(row) for row in rows])]))
