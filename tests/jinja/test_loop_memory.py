"""Turns of loops, rendered once for all beginnings of a conversation: the texts beside Jinja2's own."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from promptpress import ChatTemplate
from promptpress._engine.table_engine import engine_of
from promptpress._jinja.chat.beginnings import Beginnings

ROLES = ("system", "user", "assistant", "tool")
LOOPS = {  # (( and )) are the loop over the messages
    "later messages": "(({{ m.role }}:{{ m.content }}{{ '.' if loop.last else ';' }}))",
    "the message after": (
        "(({% if loop.last or messages[loop.index0 + 1].role != m.role %}"
        "{{ m.content }}{{ loop.nextitem.role if loop.nextitem else '' }}{% else %}{{ loop.index }}{% endif %}))"
    ),
    "the last query": (
        "{% set ns = namespace(last=-1) %}"
        "{% for m in messages[::-1] %}{% if ns.last < 0 and m.role == 'user' %}"
        "{% set ns.last = messages|length - 1 - loop.index0 %}{% endif %}))"
        "(({% if loop.index0 > ns.last and m.thinking %}<{{ m.thinking }}>{% endif %}{{ m.content }}"
        "))"
    ),
    "fields that the body sets": (
        "{% set ns = namespace(tools=false, n=0, sum='') %}(("
        "{% if m.role == 'tool' and not ns.tools %}<results>{% set ns.tools = true %}{% endif %}"
        "{% if m.role != 'tool' and ns.tools %}</results>{% set ns.tools = false %}{% endif %}"
        "{% if loop.revindex > 2 %}{% set ns.n = ns.n + 1 %}{% endif %}"
        "{{ ns.n }}{{ m.content }}{% set ns.sum = ns.sum ~ m.role[0] %})){{ ns.sum }}"
    ),
    "a field that is set and not read": (
        "{% set ns = namespace(last='') %}(({% if loop.last %}{% set ns.last = m.role %}{% endif %}"
        "{{ m.content }})){{ ns.last }}"
    ),
    "a field under two names": (
        "{% set ns = namespace(x=0) %}{% set other = ns %}(({% set ns.x = ns.x + messages|length %}"
        "{% if other.x + 1 > 9 %}{{ other.x }}{% endif %}{{ m.content }}))"
    ),
    "names of around the loop": (
        "{% set who = messages[-1].role %}(({% if m.role == 'user' %}{% set who = 'U' %}{% endif %}"
        "{{ who }}{{ m.content }}))"
    ),
    "a macro that reads": (
        "{% set ns = namespace(n=0) %}{% macro show(m) %}[{{ m.content }}{{ ns.n }}{{ messages|length }}]{% endmacro %}"
        "(({% if m.role == 'user' %}{% set ns.n = ns.n + 1 %}{% endif %}{{ show(m) }}))"
    ),
    "a macro with the loop's name": ("{% macro show() %}{{ m }}{% endmacro %}(({{ show() }}{{ m.content }}))"),
    "a loop within": ("(({% for part in [1, 2] %}{{ loop.last }}{{ m.content }})){{ loop.last }}))"),
    "all messages": "(({{ m.content }}{% for n in messages %}{{ n.role[0] }}))))",
    "break": "(({% if m.role == 'tool' %}{% break %}{% endif %}{{ m.content }}))",
    "a condition": "{% for m in messages if m.role != 'system' %}{{ loop.index }}{{ m.content }}{{ loop.last }}))",
    "a slice": (
        "{% set rest = messages[1:] if messages[0].role == 'system' else messages %}"
        "{% for m in rest %}{{ loop.index0 }}{{ m.content }}{{ rest[-1].role }}))"
    ),
    "the prompt within": ("(({{ m.content }}{% if loop.last and add_generation_prompt %}A:{% endif %}))"),
    "what raises": (
        "(({% if m.role == 'tool' and messages[loop.index0 + 1].content.x.y %}!{% endif %}{{ m.content }}))"
    ),
    "the message before": "(({{ loop.previtem.role if loop.previtem else '-' }}{{ m.content }}))",
}


def template(name: str) -> str:
    return LOOPS[name].replace("((", "{% for m in messages %}").replace("))", "{% endfor %}")


def talk(rng: random.Random, length: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(length):
        role = rng.choice(ROLES[: 4 if number else 2])
        messages.append({"role": role, "content": rng.choice(["", "a", f"text {number}", "<b>"])})
        if role == "assistant" and rng.random() < 0.5:
            messages[-1]["thinking"] = f"hm {number}"
    return messages


@pytest.mark.parametrize("name", LOOPS)
def test_texts_are_those_of_jinja2(name: str) -> None:
    source = template(name) + "{% if add_generation_prompt %}>{% endif %}"
    theirs = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    ).from_string(source)
    renderer = engine_of(ChatTemplate(source)).renderer
    if name in ("break", "a macro with the loop's name"):
        assert renderer.reference.remembering is None
        return
    for seed in range(6):
        messages = talk(random.Random(seed), 12)
        beginnings = Beginnings(renderer, messages, "messages", {}, {})
        for count, asks in [(count, asks) for count in range(1, 13) for asks in (False, True)]:
            given = [
                {**message, "reasoning_content": message["thinking"]} if "thinking" in message else message
                for message in messages[:count]
            ]
            try:
                expected = theirs.render(messages=given, add_generation_prompt=asks)
            except Exception as error:
                with pytest.raises(type(error)):
                    beginnings.rendered(count, asks=asks)
                continue
            if name == "all messages" and count > 8:
                continue  # no turn comes again, so the memory gives up
            assert beginnings.rendered(count, asks=asks).text == expected, (name, seed, count, asks)


def test_turns_are_rendered_once() -> None:
    renderer = engine_of(ChatTemplate(template("the last query"))).renderer
    messages = [{"role": ROLES[1 + number % 2], "content": f"{number}"} for number in range(60)]
    beginnings = Beginnings(renderer, messages, "messages", {}, {})
    kept = []
    for count in range(1, 61):
        beginnings.rendered(count, asks=False)
        kept.append(beginnings._memory._limit)
    assert max(before - after for before, after in pairwise(kept)) <= 2
