"""Chat templates whose texts were wrong or refused once, beside Jinja2 itself."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from marks import UNWARNED
from promptpress import ChatTemplate

pytestmark = UNWARNED

TABLE = pa.table({"messages": [[{"role": "user", "content": f"c{number}"}] for number in range(20)]})


def texts(source: str, **arguments: Any) -> list[str]:
    return ChatTemplate(source, **arguments).render(TABLE)["prompt"].to_pylist()


@pytest.mark.parametrize(
    "value",
    [
        "messages[0].items",
        "messages.index ~ ''",
        "joiner()",
        "'%s' | format(messages[0].items)",
        "'{}'.format(messages[0].items)",
        "messages[0].items | trim",
        "messages[0].items | upper",
        "[messages[0].items] | join",
        "[messages[0].items, messages[0].content]",
        "{'a': messages[0].items}",
        "messages[0].items | pprint",
        "messages[0].items ~ messages[0].content",
        "'abc'.upper",
    ],
)
def test_a_text_with_an_address_is_made_for_each_row(value: str) -> None:
    rendered = texts(f"{{{{ {value} }}}}|{{{{ messages[0].content }}}}")
    assert [text.rpartition("|")[2] for text in rendered] == [f"c{number}" for number in range(20)]
    assert all(" at 0x" in text.lower() for text in rendered)


@pytest.mark.parametrize("before", ["", "{% for m in messages %}", "{% if messages %}", "{% set a %}"])
def test_self_is_the_template(before: str) -> None:
    after = {"{% f": "{% endfor %}", "{% i": "{% endif %}", "{% s": "{% endset %}{{ a }}"}.get(before[:4], "")
    rendered = texts(before + "{{ self }}{{ self is defined }}{{ messages[0].content }}" + after)
    assert rendered == [f"<TemplateReference None>Truec{number}" for number in range(20)]


def test_a_variable_of_the_name_self_is_a_variable() -> None:
    chat = ChatTemplate("{% set self = messages[0].content %}{{ self }}{% for self in [1, 2] %}{{ self }}{% endfor %}")
    assert chat.render(TABLE)["prompt"].to_pylist() == [f"c{number}12" for number in range(20)]
    assert chat.last_run is not None
    assert chat.last_run.compiled == 19


def test_documents_stay_the_tuple_that_they_are() -> None:
    documents = ({"title": "a", "text": "b"},)
    assert texts("{{ documents }}", documents=documents) == ["({'title': 'a', 'text': 'b'},)"] * 20
    assert texts("{{ documents }}", documents=()) == ["()"] * 20
    assert texts("{{ documents }}", documents=list(documents)) == ["[{'title': 'a', 'text': 'b'}]"] * 20


def test_unassigned_characters_are_escaped_as_this_interpreter_has_it() -> None:
    # In a process of its own: a configuration that another test renders tells the core which characters there are.
    program = """
import sys
import pyarrow as pa
from promptpress import ChatTemplate

odd = "".join(map(chr, range(0x80, 0xD800))) + "".join(map(chr, range(0xE000, 0x32000)))
rows = [[{"role": "user", "content": text}] for text in ("a", "b", "c", odd)]
texts = ChatTemplate("{{ [messages[0].content] }}").render(pa.table({"messages": rows}))["prompt"].to_pylist()
sys.exit(texts[3] != str([odd]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("source", "expected", "compiled"),
    [
        (
            "{% for m in messages if m.role != 'system' %}{{ loop.last }}:{{ m.content }};{% endfor %}",
            "False:a{0};False:c{0};True:d{0};",
            19,
        ),
        (
            "{% for m in messages if m.role != 'system' %}"
            "{{ loop.nextitem.content if not loop.last }}:{{ m.content }}{% set m = 0 %}{{ m }};{% endfor %}",
            "c{0}:a{0}0;d{0}:c{0}0;:d{0}0;",
            19,
        ),
        (
            "{% set ns = namespace(n=0) %}{% for m in messages if ns.n < 2 %}"
            "{% set ns.n = ns.n + 1 %}{{ m.content }};{% endfor %}",
            "a{0};b{0};",
            0,
        ),
        (
            "{% set ns = namespace(n=0) %}{% for m in messages if ns.n < 2 %}{{ loop.last }}"
            "{% set ns.n = ns.n + 1 %}{{ m.content }};{% endfor %}",
            "Falsea{0};Falseb{0};Truec{0};",
            0,
        ),
    ],
)
def test_a_condition_of_a_loop_has_separate_variables_and_a_separate_time(
    source: str, expected: str, compiled: int
) -> None:
    roles = ("user", "system", "assistant", "user")
    rows = [
        [{"role": role, "content": f"{text}{number}"} for role, text in zip(roles, "abcd", strict=True)]
        for number in range(20)
    ]
    chat = ChatTemplate(source)
    assert chat.render(pa.table({"messages": rows}))["prompt"].to_pylist() == [expected.format(n) for n in range(20)]
    assert chat.last_run is not None
    assert chat.last_run.compiled == compiled


def test_a_loop_with_a_condition_goes_on_in_each_way_of_a_fork() -> None:
    source = (
        "{% for m in messages if m is defined %}{% if m.role == 'user' %}{% if m.content == 'a' %}{{ loop.last }}"
        "{% endif %}{{ loop.last }}|{% continue %}{% endif %}{{ m.content }}{% endfor %}"
    )
    roles = ("user", "user", "system")
    rows = [[{"role": role, "content": text} for role in roles] for text in "bcbabaabcc"]
    expected = [("FalseFalse|" if row[0]["content"] == "a" else "False|") * 2 + row[0]["content"] for row in rows]
    assert ChatTemplate(source).render(pa.table({"messages": rows}))["prompt"].to_pylist() == expected


@pytest.mark.parametrize(
    "control", ["{% break %}", "{% continue %}", "{% if m.content != 'c3' %}{% continue %}{% endif %}"]
)
def test_a_loop_that_is_left_in_its_first_body_is_an_empty_one_to_jinja(control: str) -> None:
    rendered = texts("{% for m in messages %}{{ m.content }}" + control + "{% else %}E{% endfor %}")
    assert rendered == [f"c{n}" + ("" if n == 3 and "if" in control else "E") for n in range(20)]
