"""Texts that only grow: what is proven, what is shown, and that no proof is wrong."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from amounts import part_of

pytest.importorskip("jinja2")

from promptpress import ChatTemplate
from promptpress._jinja.reference import Reference
from promptpress._jinja.turn_order import unproven

TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
SYSTEM_FIRST = (
    "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{{ messages[0].content }}{% else %}"
    "{% set rest = messages %}{% endif %}{% for m in rest %}<{{ m.role }}>{{ m.content }}{% endfor %}"
)
ALWAYS = [
    TURNS,
    SYSTEM_FIRST,
    "{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}" + TURNS,
    TURNS + "{% if add_generation_prompt %}<assistant>{% endif %}",
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}"
    + TURNS
    + "{% if messages[-1].role == 'user' and add_generation_prompt %}<assistant>{% endif %}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ m.role }}{% endfor %}",
    "{% for m in messages %}{{ loop.index0 }}{{ loop.previtem.role }}{{ messages[0].role }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{% for part in m.content %}{{ part }}{{ ',' if not loop.last }}{% endfor %}{% endfor %}",
    "{% for m in messages %}{% if loop.length > 99 %}{{ raise_exception('long') }}{% endif %}{% endfor %}" + TURNS,
    "{% macro said(m) %}{{ m.role }}: {{ m.content }}{% endmacro %}{% for m in messages %}{{ said(m) }}{% endfor %}",
    "{% for m in messages if m.role != 'system' %}{% set c = m.content %}{% if c %}{{ c }}{% endif %}{% endfor %}",
    "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
]
NEVER = [
    TURNS + "</s>",
    "{% for m in messages %}{{ m.content }}{{ ';' if loop.last }}{% endfor %}",
    "{{ messages | length }}" + TURNS,
    "{{ messages[-1].content }}" + TURNS,
    "{% for m in messages[::-1] %}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ (loop.nextitem or m).role }}{% endfor %}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = loop.index %}{% endfor %}{{ ns.n }}" + TURNS,
    "{% macro all() %}{{ messages | length }}{% endmacro %}{{ all() }}" + TURNS,
    "{% set last = messages | last %}{% for m in messages %}{{ m.content }}{{ '!' if m == last }}{% endfor %}",
    TURNS + TURNS,
]
DEPENDS = {
    "{% for m in messages %}{{ m.content }}{{ ';' if m.role == 'tool' and loop.last }}{% endfor %}": "tools and their",
    "{% for m in messages %}{{ m.reasoning_content if loop.last }}{{ m.content }}{% endfor %}": "with reasoning",
    "{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}" + TURNS: "after the first turn",
    "{{ '' if messages | length }}" + TURNS: "but not proven: line 1: text depends on all messages at once",
}


@pytest.mark.parametrize("source", ALWAYS)
def test_what_is_proven(source: str) -> None:
    answer = ChatTemplate(source).append_only
    assert (answer.answer, answer.example) == ("always", None)


@pytest.mark.parametrize("source", NEVER)
def test_plain_talk_that_shows_the_opposite(source: str) -> None:
    chat = ChatTemplate(source)
    answer, example = chat.append_only.answer, chat.append_only.example
    assert answer == "never"
    assert example is not None
    texts = chat.render([{"messages": example.messages[: example.turns]}, {"messages": example.messages}])["prompt"]
    assert texts.to_pylist() == [example.text, example.longer]
    assert not example.longer.startswith(example.text)


@pytest.mark.parametrize("source", DEPENDS)
def test_what_it_depends_on(source: str) -> None:
    answer = ChatTemplate(source).append_only
    assert answer.answer == "depends"
    assert DEPENDS[source] in answer.reason


def test_the_generation_prompt_and_the_trained_turn() -> None:
    kept = ChatTemplate(TURNS + "{% if add_generation_prompt %}<assistant>{% endif %}").append_only.generation_prompt
    other = ChatTemplate(TURNS + "{% if add_generation_prompt %}<assistant>\n{% endif %}").append_only.generation_prompt
    assert kept is not None
    assert (kept.answer, kept.example) == ("depends", None)
    assert other is not None
    assert other.answer == "never"
    assert other.example is not None
    assert (other.example.text, other.example.longer) == ("<user>1+1?<assistant>\n", "<user>1+1?<assistant>2")


def test_a_template_that_renders_no_plain_talk() -> None:
    assert (
        "no plain talk is rendered"
        in ChatTemplate("{{ raise_exception('no') if messages | length }}").append_only.reason
    )


def test_answers_share_nothing() -> None:
    first, second = (ChatTemplate(TURNS + "</s>").append_only.example for _ in range(2))
    assert first is not None
    assert second is not None
    first.messages[0]["content"] = "changed"
    assert second.messages[0]["content"] == "1+1?"


VALUES = (
    *(
        "m.content",
        "m.role",
        "loop.index0",
        "loop.last",
        "loop.first",
        "ns.a",
        "ns.b",
        "x",
        "y",
        "messages | length",
        "'t'",
    ),
    *("messages[0].content", "messages[-1].role", "messages[1:] | length", "loop.nextitem.role", "loop.previtem.role"),
    *("said(x)", "tools", "(messages | first).role", "messages[loop.index0].role", "m.content | trim"),
)
CONDITIONS = (
    *("m.role == 'user'", "loop.last", "loop.first", "ns.a", "x", "add_generation_prompt", "not add_generation_prompt"),
    *(
        "messages[0].role == 'system'",
        "messages | length > 2",
        "tools",
        "m.content and loop.last",
        "messages",
        "y is defined",
    ),
    *("add_generation_prompt or m.role == 'user'", "loop.last and add_generation_prompt", "not ns.b"),
)
LISTS = ("messages", "messages[1:]", "messages | list", "rest", "m.content", "[1, 2]", "messages[::-1]", "messages[:1]")


def statement(draw: random.Random, depth: int) -> str:
    """Draw a statement; many show later turns in some way, and many don't."""
    kind = draw.choice(("text", "text", "set", "field", "if", "for", "capture", "rest", "if"))
    value, condition = draw.choice(VALUES), draw.choice(CONDITIONS)
    if kind in ("text", "set", "field", "rest") or depth > 2:
        return {
            "set": f"{{% set {draw.choice('xy')} = {value} %}}",
            "field": f"{{% set ns.{draw.choice('ab')} = {value} %}}",
            "rest": f"{{% set rest = {draw.choice(LISTS)} %}}",
        }.get(kind, f"{{{{ {value} }}}}")
    inner = "".join(statement(draw, depth + 1) for _ in range(draw.randint(1, 3)))
    if kind == "if":
        other = "{% else %}" + statement(draw, depth + 1) if draw.random() < 0.4 else ""
        return f"{{% if {condition} %}}{inner}{other}{{% endif %}}"
    if kind == "capture":
        return f"{{% set x %}}{inner}{{% endset %}}"
    test = f" if {condition}" if draw.random() < 0.2 else ""
    return f"{{% for m in {draw.choice(LISTS)}{test} %}}{inner}{{% endfor %}}"


def conversations() -> list[list[dict[str, Any]]]:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": ""},
    ]
    return [list(talk) for talk in itertools.product(messages, repeat=4)]


def test_no_proof_is_wrong() -> None:
    draw, proven = random.Random(56), 0
    for _ in range(part_of(160)):
        body = "".join(statement(draw, 0) for _ in range(draw.randint(1, 4)))
        source = (
            "{% macro said(a) %}{{ a }}{{ y }}{% endmacro %}{% set ns = namespace(a=0, b=1) %}{% set rest = messages %}"
            + body
        )
        reference = Reference(source, "transformers")
        if unproven(reference.ast(), {"add_generation_prompt": False}) is not None:
            continue
        proven += 1
        for talk in conversations():
            before = None
            for count in range(1, len(talk) + 1):
                names = {"messages": talk[:count], "add_generation_prompt": False}
                try:
                    text = reference.render(names)
                except Exception:
                    continue
                assert before is None or text.startswith(before), (source, talk[:count])
                before = text
    assert proven > 2
