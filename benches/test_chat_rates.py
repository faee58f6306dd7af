"""Compiled chat templates over conversations, beside transformers, jinja2 and minijinja-py, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import minijinja
import promptpress
import pytest
from chat_workloads import CHATS_BY_ID, ROWS, ChatWorkload, conversations
from in_turns import Sizes, Way, measured, ours
from record import Record
from transformers.utils import chat_template_utils


def ways(workload: ChatWorkload, sizes: Sizes) -> Iterator[Way]:
    count = sizes.ours(ROWS[workload.shots])
    samples = conversations(workload.shots, count)
    template = promptpress.ChatTemplate(workload.source, add_generation_prompt=True, **workload.variables)
    prompts = template.render(samples)["prompt"]
    yield from ours("ChatTemplate", count, lambda: template.render(samples), bytes=prompts.nbytes)
    given = {"add_generation_prompt": True, **workload.variables}
    render = chat_template_utils.render_jinja_template
    compiled = chat_template_utils._compile_jinja_template(workload.source)
    environment = minijinja.Environment(templates={"prompt": workload.source}, trim_blocks=True, lstrip_blocks=True)
    peers: dict[str, Callable[[Any], str]] = {
        "transformers": lambda row: render([row], chat_template=workload.source, **given)[0][0],
        "jinja2": lambda row: compiled.render(messages=row, **given),
        "minijinja": lambda row: environment.render_template("prompt", messages=row, **given),
    }
    for name, by_peer in peers.items():

        def prepare(few: int, by_peer: Callable[[Any], str] = by_peer) -> Callable[[], list[str]]:
            rows = samples["messages"].slice(0, few).to_pylist()
            return lambda: [by_peer(row) for row in rows]

        assert prepare(sizes.compared)() == prompts.slice(0, sizes.compared).to_pylist()
        rows = sizes.theirs(prepare, count)
        yield Way(name, rows, prepare(rows))
    run = template.last_run
    assert run is not None
    assert run.jinja2 <= 1, "what is timed is compiled, but for the first conversation of all"


@pytest.mark.parametrize("workload_id", ["chatml", "llama3", "qwen3", "chatml-5", "qwen3-5"])
def test_chat_rate(workload_id: str, sizes: Sizes, record: Record) -> None:
    record("chat", workload_id, measured(ways(CHATS_BY_ID[workload_id], sizes)))
