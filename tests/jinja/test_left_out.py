"""What chat templates leave out, beside a search for marks in the prompts."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from generators.marked_conversations import Conversations, lost
from promptpress.engine.errors import LeftOutWarning

LOOP = "{% for m in messages %}"
TEMPLATES = {
    "all": LOOP + "<{{ m.role }}>{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endfor %}",
    "known roles": LOOP + "{% if m.role in ['user', 'assistant'] %}{{ m.content }}{% endif %}{% endfor %}",
    "system first": "{% if messages[0].role == 'system' %}{{ messages[0].content | trim }}\n{% endif %}"
    + LOOP
    + "{% if m.role != 'system' %}[{{ m.content }}]{% endif %}{% endfor %}",
    "after thinking": LOOP
    + "{% if '</think>' in m.content %}{{ m.content.split('</think>')[-1] | trim }}{% else %}{{ m.content }}{% endif %}"
    + ";{% endfor %}",
    "texts that are filled": LOOP
    + "{% if m.content %}{{ m.content }}{% elif m.tool_calls %}call{% endif %}{% endfor %}",
    "texts beside calls": LOOP
    + "{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.name }}({{ c.function.arguments | tojson }})"
    + "{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
    "last of the same role": "{% set ns = namespace(text='') %}"
    + LOOP
    + "{% if m.role == 'user' %}{% set ns.text = m.content | trim %}{% endif %}{% endfor %}{{ ns.text }}",
    "joined": "{{ messages | map(attribute='content') | join(', ') }}",
    "reasoning of the last turn": LOOP
    + "{% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    + "{% endfor %}",
    "parts": LOOP
    + "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}{{ p.text | upper }}"
    + "{% endfor %}{% endif %}{{ m.name }}{% endfor %}",
    "tools": "{% if tools %}{{ tools | tojson }}{% endif %}" + LOOP + "{{ m.content }}{% endfor %}",
    "two texts in one": "{{ (messages[0].content ~ '\n' ~ messages[-1].content) | trim }}",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_is_left_out_is_what_no_mark_is_of(name: str) -> None:
    conversations = Conversations(sum(map(ord, name)))
    drawn = [conversations.conversation() for _ in range(part_of(400))]
    tools, marks = conversations.tools()
    # Jinja2 renders shapes of few rows, and programs those of the others.
    order = [number for number in range(len(drawn)) for _ in range(conversations.random.choice([1, 3, 6]))]
    chat = pp.ChatTemplate(TEMPLATES[name], tools=tools)
    rendered = chat.render([{"messages": drawn[number][0]} for number in order], errors="column")
    expected: Counter[tuple[str, str]] = Counter()
    for number, prompt in zip(order, rendered["prompt"].to_pylist(), strict=True):
        if prompt is not None:
            expected.update(lost(prompt, *drawn[number]))
            expected.update([("tools_left_out", "tools")] * (marks[0] not in prompt))
    assert chat.last_run is not None
    counted = {(row["code"], row["place"]): row["rows"] for row in chat.last_run.left_out.to_pylist()}
    assert {kind: rows for kind, rows in counted.items() if kind[0] != "role_unknown_to_template"} == expected
    assert chat.last_run.compiled > 0 < chat.last_run.jinja2


SILENT = [{"role": "user", "content": "q"}, {"role": "robot", "content": "LOST"}]


def test_a_run_warns_once_of_all_that_it_has_left_out() -> None:
    chat = pp.ChatTemplate(TEMPLATES["known roles"])
    rows = [{"messages": SILENT[:1]}] * 3 + [{"messages": SILENT}] * 2
    wanted = "in 2 of 5 conversations the template leaves out a message: last turn, role 'robot', first in row 3"
    for render in (chat.render, lambda rows: chat.stream(rows).read_all()):
        with pytest.warns(LeftOutWarning) as warned:
            render(rows)
        assert [str(warning.message) for warning in warned] == [wanted]
    with pytest.warns(LeftOutWarning, match="first in row 1"):
        chat.render([{"messages": "bad"}, {"messages": SILENT}], errors="column")


def test_what_is_left_out_by_design_is_but_a_note() -> None:
    chat = pp.ChatTemplate(TEMPLATES["reasoning of the last turn"])
    thought = {"role": "assistant", "content": "a", "reasoning_content": "r"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chat.render([{"messages": [SILENT[0], thought, SILENT[0]]}])
    assert chat.last_run is not None
    assert chat.last_run.left_out["code"].to_pylist() == ["reasoning_left_out"]


def test_what_is_blank_is_not_left_out() -> None:
    chat = pp.ChatTemplate(LOOP + "{{ m.content | trim if m.role == 'user' }}{% endfor %}")
    rows = [
        {"messages": [{"role": role, "content": text}]} for text in ("", " \n\u2003", "a") for role in ("user", "x")
    ] * 3
    chat.render(rows)
    assert chat.last_run is not None
    assert chat.last_run.left_out.to_pylist()[0] == {
        **{"code": "message_left_out", "rows": 3, "first_row": 5, "place": "last turn, role 'x'"}
    }


@pytest.mark.parametrize("system", [None, "S"])
def test_a_template_after_a_configuration(system: str | None) -> None:
    chat = pp.ChatTemplate("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
    renderer = pp.Renderer("{q}", system=system, chat_template=chat)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        renderer.render([{"q": "x"}] * 2)
    assert len(warned) == (system is not None)
    codes = {"message_left_out", "role_unknown_to_template"} if system else set()
    assert renderer.last_run is not None
    assert set(renderer.last_run.left_out["code"].to_pylist()) == codes
    assert codes <= set(renderer.audit([{"q": "x"}])["code"].to_pylist())


@pytest.mark.parametrize("tools", [[{"name": "f"}], '[{"name": "f"}]', ['{"name": "f"}']])
def test_tools_of_rows_that_no_template_reads(tools: Any) -> None:
    rows = [
        {"messages": SILENT[:1], "q": "x", "tools": value}
        for value in (None, "[]" if isinstance(tools, str) else [], tools)
    ]
    plain, reads = (pp.ChatTemplate(TEMPLATES[name]) for name in ("known roles", "tools"))
    for renderer, is_left_out in (
        *((plain, True), (reads, False), (pp.Renderer("{q}", chat_template=plain), True)),
        (pp.ChatTemplate(TEMPLATES["known roles"], argument_columns={}), False),
    ):
        renderer.render(rows)
        assert renderer.last_run is not None
        counted = [(row["code"], row["rows"], row["first_row"]) for row in renderer.last_run.left_out.to_pylist()]
        assert counted == [("tools_left_out", 1, 2)] * is_left_out


def test_a_preview_says_what_is_left_out() -> None:
    chat = pp.ChatTemplate(TEMPLATES["known roles"])
    preview = chat.preview([{"messages": SILENT}])
    for text in (str(preview), preview._repr_html_()):
        assert "not in the prompt: a message: last turn, role " in text
    assert "not in the prompt" not in str(chat.preview([{"messages": SILENT[:1]}]))


def test_programs_refuse_parts_that_are_not_there() -> None:
    from promptpress._core import JinjaProgram

    with pytest.raises(ValueError, match="there are 1 parts, and a number is larger"):
        JinjaProgram(["slots"], [], [], [], ([1], [], [[0]]))
    assert json.dumps(JinjaProgram(["slots"], [], [], [], ([0], [], [[0]])).columns) == '["slots"]'


@pytest.mark.parametrize("code", ["message_left_out", "tool_call_left_out", "tools_left_out", "name_left_out"])
def test_what_is_refused_is_an_error_of_its_row(code: str) -> None:
    """Also of rows that Jinja2 renders, and of those that may lack something; they aren't counted then."""
    conversations = Conversations(len(code))
    rows = [{"messages": conversations.conversation()[0], "tools": [{"name": "f"}] * (n % 2)} for n in range(30)]
    for source in TEMPLATES.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counting, refusing = pp.ChatTemplate(source), pp.ChatTemplate(source, refuse=[code])
            texts = counting.render(rows, errors="column")
            rendered = refusing.render(rows, errors="column")
            alone = [refusing.render([row], errors="column")["error"][0].as_py() for row in rows]
        assert counting.last_run is not None
        assert refusing.last_run is not None
        counted = [row["rows"] for row in counting.last_run.left_out.to_pylist() if row["code"] == code]
        errors = rendered["error"].to_pylist()
        refused = [number for number, error in enumerate(errors) if error and error.startswith("left_out")]
        assert max(counted, default=0) <= len(refused) <= sum(counted)
        assert code not in refusing.last_run.left_out["code"].to_pylist()
        assert alone == errors
        for number, (text, row) in enumerate(zip(texts.to_pylist(), rendered.to_pylist(), strict=True)):
            assert row["prompt"] == (None if number in refused else text["prompt"])


def test_no_tools_in_any_form_are_no_tools() -> None:
    none = [None, "", " ", "null", "[]", " [ ] ", '""', '"[]"', []]
    for tools in (none, ["[]", "null"], [[], None]):
        chat = pp.ChatTemplate(TEMPLATES["known roles"])
        chat.render([{"messages": SILENT[:1], "tools": of_row} for of_row in tools])
        assert chat.last_run is not None
        assert chat.last_run.left_out.num_rows == 0
    reads = pp.ChatTemplate("{{ tools }}")
    assert (
        reads.render([{"messages": SILENT, "tools": of_row} for of_row in none])["prompt"].to_pylist() == ["None"] * 9
    )


RAISING = LOOP + "{% if m.role == 'x' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}{% endfor %}"


def test_rows_with_errors_lack_nothing() -> None:
    """Those of columns that the template doesn't read, too; the audit knows rows by the same numbers."""
    bad, good, tools = [{"role": "x", "content": "a"}], [{"role": "user", "content": "b"}], [{"name": "f"}]
    rows = [{"messages": messages, "tools": of_row} for messages in (bad, good) for of_row in ([], tools)] * 2
    rows[4]["messages"] = None
    chat = pp.ChatTemplate(RAISING)
    chat.render(rows, errors="skip")
    assert chat.last_run is not None
    assert [(row["rows"], row["first_row"]) for row in chat.last_run.left_out.to_pylist()] == [(2, 3)]
    findings = [(row["code"], row["first_rows"]) for row in chat.audit(rows).to_pylist()]
    assert ("tools_left_out", [3, 7]) in findings
    assert sorted(row for code, rows in findings if code == "unrenderable_row" for row in rows) == [0, 1, 4, 5]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_columns_of_any_type_that_no_template_reads(kind: pa.DataType) -> None:
    talk = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, *SILENT])
    texts = pa.array([json.dumps([{"name": "f"}]), "[]", None])
    table = pa.table({"messages": [talk] * 3, "tools": texts if kind == texts.type else texts.cast(kind)})
    if not pa.types.is_dictionary(kind):
        table = table.set_column(0, "messages", table["messages"].cast(kind))
    codes = {
        row["code"]: row["first_rows"] for row in pp.ChatTemplate(TEMPLATES["known roles"]).audit(table).to_pylist()
    }
    assert codes["tools_left_out"] == [0]


def test_arguments_of_a_call_that_are_lost() -> None:
    """A call whose name is written lacks its arguments, whoever renders the row."""
    source = LOOP + "{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}"
    for arguments, lost_in in (({"a": "x"}, 4), ('{"a": "x"}', 4), ({}, 0), (None, 0)):
        call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
        for text in (source, source.replace("c.function.name", "[c.function.name, c.function.arguments]")):
            chat = pp.ChatTemplate(text)
            chat.render([{"messages": [SILENT[0], call]}] * 4)
            assert chat.last_run is not None
            rows = [row["rows"] for row in chat.last_run.left_out.to_pylist()]
            assert rows == [lost_in] * bool(lost_in and text == source)


def test_what_jinja2_renders_twice_is_counted_once() -> None:
    """A row that is refused has all rows next to it rendered again, each alone."""
    silent = {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "q"}]}
    calls = {"messages": [{"role": "user", "content": "q"}, {"role": "robot", "content": "r"}]}
    chat = pp.ChatTemplate(
        "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}", refuse=["message_left_out"]
    )
    names = pp.ChatTemplate("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
    for rows in ([silent, calls], [silent, calls, silent]):
        names.render(rows)
        assert names.last_run is not None
        assert sum(
            row["rows"] for row in names.last_run.left_out.to_pylist() if row["code"] == "message_left_out"
        ) == len(rows)
        assert chat.render(rows, errors="skip").num_rows == 0


def test_a_column_of_system_texts() -> None:
    """Tables of ShareGPT's form may have one next to the conversations."""
    talk = [{"from": "human", "value": "q"}]
    rows = [{"conversations": talk, "system": system} for system in ("Be brief.", "", None, "Be kind.")]
    chat = pp.ChatTemplate(TEMPLATES["all"], column="conversations")
    with pytest.warns(LeftOutWarning, match="in 2 of 4 .* a message: column 'system', first in row 0"):
        chat.render(rows)
    assert chat.audit(rows, only=["message_left_out"])["first_rows"].to_pylist() == [[0, 3]]
    read = pp.ChatTemplate(
        "{{ system }}" + TEMPLATES["all"], column="conversations", argument_columns={"system": "system"}
    )
    assert read.render(rows)["prompt"][0].as_py().startswith("Be brief.")
    assert read.last_run is not None
    assert read.last_run.left_out.num_rows == 0


def test_a_content_that_is_a_dict() -> None:
    parts = "{% for part in m.content if part.type == 'text' %}{{ part.text }}{% endfor %}"
    chat = pp.ChatTemplate(f"{LOOP}<{{{{ m.role }}}}>{parts}{{% endfor %}}")
    for _ in range(3):
        chat.render([{"messages": [{"role": "user", "content": {"a": "x"}}]}] * 20)
        assert chat.last_run is not None
        counted = {row["code"]: row["rows"] for row in chat.last_run.left_out.to_pylist()}
        assert counted["message_left_out"] == 20
