"""Compiled chat templates over conversations, beside transformers, jinja2 and minijinja-py, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promptpress
import pytest
from chat_workloads import CHAT_WORKLOADS, CHATS_BY_ID, COUNTS, ChatWorkload, conversations
from in_turns import Way, measured, names_of, ours, replayed
from rounds import Replay

chat_template_utils = pytest.importorskip("transformers.utils.chat_template_utils")
minijinja = pytest.importorskip("minijinja")

CASES = [
    (workload.id, name, Replay())
    for workload in CHAT_WORKLOADS
    for name in names_of(["template"], ["transformers", "jinja2", "minijinja"])
]
ways_of: dict[str, dict[str, Way]] = {}


def ways(workload: ChatWorkload, count: int, few: int) -> Iterator[Way]:
    samples = conversations(workload.shots, count)
    template = promptpress.ChatTemplate(workload.source, add_generation_prompt=True, **workload.variables)
    yield from ours("template", count, lambda: template.render(samples))
    rows = samples["messages"].slice(0, few).to_pylist()
    given = {"add_generation_prompt": True, **workload.variables}

    def by_transformers() -> list[str]:
        render = chat_template_utils.render_jinja_template
        return [render([row], chat_template=workload.source, **given)[0][0] for row in rows]

    compiled = chat_template_utils._compile_jinja_template(workload.source)
    environment = minijinja.Environment(templates={"prompt": workload.source}, trim_blocks=True, lstrip_blocks=True)

    def by_jinja2() -> list[str]:
        return [compiled.render(messages=row, **given) for row in rows]

    def by_minijinja() -> list[str]:
        return [environment.render_template("prompt", messages=row, **given) for row in rows]

    yield Way("transformers", few, by_transformers)
    yield Way("jinja2", few, by_jinja2)
    yield Way("minijinja", few, by_minijinja)
    texts = template.render(samples)["prompt"].slice(0, few).to_pylist()
    assert texts == by_transformers() == by_jinja2() == by_minijinja()
    run = template.last_run
    assert run is not None
    assert run.jinja2 <= 1, "what is timed is compiled, but for the first conversation of all"


@pytest.mark.parametrize(
    ("workload_id", "name", "replay"),
    [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group=f"chat-{case[0]}", timer=case[2]))
        for case in CASES
    ],
)
def test_chat_rate(  # noqa: PLR0917 - fixtures
    workload_id: str, name: str, replay: Replay, quick: bool, benchmark: Any, record_property: Any
) -> None:
    if workload_id not in ways_of:
        workload = CHATS_BY_ID[workload_id]
        few = 1_000 if workload.shots else 5_000
        sizes = (20_000, 1_000) if quick else (COUNTS(workload), few)
        ways_of[workload_id] = measured(list(ways(workload, *sizes)))
    rate = replayed(ways_of[workload_id][name], replay, benchmark, kind="chat", workload=workload_id)
    per_cpu = ways_of[workload_id][name].rows / benchmark.extra_info["cpu_seconds"]
    record_property(
        "figure", f"{workload_id:18} {'chat: ' + name:20} {rate:14,.0f} rows/s {per_cpu:14,.0f} a CPU second"
    )
