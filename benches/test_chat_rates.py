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


def calls(workload: ChatWorkload, sizes: Sizes) -> Iterator[Way]:
    """One conversation a call, by a template that has met its shape, and by a new template."""
    row = conversations(workload.shots, 1)["messages"][0].as_py()
    given = {"add_generation_prompt": True, **workload.variables}
    settings = {"trim_blocks": True, "lstrip_blocks": True}
    template = promptpress.ChatTemplate(workload.source, **given)
    environment = minijinja.Environment(templates={"prompt": workload.source}, **settings)
    chat_utils, source = chat_template_utils, workload.source
    warm: dict[str, Callable[[], str]] = {
        "ChatTemplate": lambda: str(template.render([{"messages": row}])["prompt"][0]),
        "transformers": lambda: chat_utils.render_jinja_template([row], chat_template=source, **given)[0][0],
        "minijinja": lambda: environment.render_template("prompt", messages=row, **given),
    }
    new: dict[str, Callable[[], str]] = {
        "ChatTemplate": lambda: str(promptpress.ChatTemplate(source, **given).render([{"messages": row}])["prompt"][0]),
        "transformers": lambda: chat_utils._compile_jinja_template.__wrapped__(source).render(messages=row, **given),
        "minijinja": lambda: minijinja.Environment(templates={"prompt": source}, **settings).render_template(
            "prompt", messages=row, **given
        ),
    }
    for name, of_peers, count in (("warm", warm, sizes.ours(2_000)), ("new template", new, sizes.ours(100))):
        expected = of_peers["ChatTemplate"]()
        for peer, call in of_peers.items():
            assert call() == expected

            def work(call: Callable[[], str] = call, count: int = count) -> None:
                for _ in range(count):
                    call()

            yield Way(f"{peer}, {name}", count, work, role="ours" if peer == "ChatTemplate" else "peer")


@pytest.mark.parametrize("workload_id", ["chatml", "qwen3"])
def test_single_conversations(workload_id: str, sizes: Sizes, record: Record) -> None:
    record("latency", f"one conversation, {workload_id}", measured(calls(CHATS_BY_ID[workload_id], sizes)))


@pytest.mark.parametrize("workload_id", ["chatml", "llama3", "qwen3", "chatml-5", "qwen3-5"])
def test_chat_rate(workload_id: str, sizes: Sizes, record: Record) -> None:
    record("chat", workload_id, measured(ways(CHATS_BY_ID[workload_id], sizes)))
