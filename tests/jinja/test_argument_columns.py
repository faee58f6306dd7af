"""Arguments of a chat template that each row has in a column: forms, shared programs, errors, and origins."""

from __future__ import annotations

import json
import pickle
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from promptpress import ChatTemplate, JinjaTemplate, Renderer, RenderError, TemplateError
from promptpress.engine import engine_of
from promptpress.engine.templates import StagedRenderer

TALK = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
SOURCES = {
    "json": TALK + "{% if tools %}[{% for t in tools %}{{ t | tojson }}{% endfor %}]{% endif %}{{ documents is none }}",
    "indented": TALK + "{% if tools is not none %}{{ tools | tojson(indent=3) }}{{ tools | length }}{% endif %}",
    "text": TALK + "{{ tools }}{{ documents }}",
    "names": TALK + "{% for t in tools or [] if t.function.parameters is defined %}"
    "{{ t.function.name ~ ': ' ~ (t.function.parameters | tojson) }};{% endfor %}",
    "inside": TALK + "{% for t in tools or [] if t.function.parameters is defined %}"
    "{% for k, v in t.function.parameters.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}",
    "sorted": TALK + "{{ tools | tojson(sort_keys=true, ensure_ascii=true, separators=[',', ':']) }}",
    "escaped": TALK + "{{ tools | tojson(ensure_ascii=true, separators=[' , ', ' : '], indent=1) }}",
}
MESSAGES = [{"role": "user", "content": "Hi."}]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text('aé"\\\n<', max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=5,
)
FUNCTIONS = st.fixed_dictionaries(
    {"name": st.sampled_from(["f", "g"]), "parameters": st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=2)}
)
TOOLS = st.lists(st.fixed_dictionaries({"type": st.just("function"), "function": FUNCTIONS}), max_size=2) | st.none()


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def texts(template: Any, values: list[Any], column: str = "tools") -> list[str]:
    table = pa.table({"messages": [MESSAGES] * len(values), column: values})
    return list(template.render(table)["prompt"].to_pylist())


def one_by_one(source: str, tools: list[Any]) -> list[str]:
    """The texts of templates that have the tools of one row each, for all rows."""
    table = pa.table({"messages": [MESSAGES]})
    return [ChatTemplate(source, tools=of_row or None).render(table)["prompt"][0].as_py() for of_row in tools]


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
@given(tools=st.lists(TOOLS, min_size=1, max_size=4))
def test_all_forms_are_the_tools_of_the_row(source: str, tools: list[Any]) -> None:
    expected = one_by_one(source, tools) * 3
    chat = ChatTemplate(source)
    as_texts = [None if of_row is None else list(map(json.dumps, of_row)) for of_row in tools]
    written = [None if of_row is None else json.dumps(of_row) for of_row in tools]
    assert texts(chat, pa.array(written * 3, pa.string())) == expected
    assert texts(chat, pa.array(as_texts * 3, pa.list_(pa.string()))) == expected
    rows = [{"messages": MESSAGES, "tools": of_row} for of_row in tools] * 3
    assert chat.render(rows)["prompt"].to_pylist() == expected
    assert texts(chat, pa.array([json.dumps(text) for text in written] * 3)) == expected


def test_a_field_that_a_struct_has_for_other_rows_is_no_key_of_a_tool() -> None:
    tools = [[tool("f", a=1)], [tool("g", b={"c": [None, "x"]})], [{"type": "function", "function": {"name": "h"}}]] * 2
    column = pa.array(tools)
    assert column.to_pylist()[0][0]["function"]["parameters"] == {"a": 1, "b": None}
    for source in SOURCES.values():
        assert texts(ChatTemplate(source), column) == one_by_one(source, tools)
    nothing = pa.array([[{"name": None}], [{"name": "f"}]] * 2)
    assert texts(ChatTemplate("{{ tools }}"), nothing) == ["[{}]", "[{'name': 'f'}]"] * 2


@pytest.mark.parametrize(("name", "programs"), [("json", 1), ("indented", 1), ("names", 1), ("inside", 3)])
def test_rows_share_a_program_as_far_as_the_template_looks(name: str, programs: int) -> None:
    tools = [[tool(f"f{row}", **{"xyz"[row % 3]: row})] for row in range(90)]
    chat = ChatTemplate(SOURCES[name])
    assert texts(chat, [json.dumps(of_row) for of_row in tools]) == one_by_one(SOURCES[name], tools)
    compiled = [row for row in chat.compiled.to_pylist() if row["rows"]]
    opened = engine_of(chat).renderer.programs.looks_inside + 1
    assert len({row["shape"] for row in compiled}) == 1
    assert len(compiled) <= programs + opened
    assert chat.last_run.compiled >= 90 - 2 * programs


def test_other_arguments_are_what_the_column_holds() -> None:
    source = "{{ mood | default('none') }} {{ think is true }} {{ ids }}"
    chat = ChatTemplate(source, argument_columns={"mood": "m", "think": "t", "ids": "i"})
    table = pa.table({"messages": [MESSAGES] * 4, "m": ["[1]", None, "x", "x"], "t": [True, False, None, None]})
    table = table.append_column("i", pa.array([[1, 2], [], None, [3]]))
    assert chat.render(table)["prompt"].to_pylist() == ["[1] True [1, 2]", "none False []", "x False ", "x False [3]"]
    mixed = [{"messages": MESSAGES, "m": value, "t": 1, "i": 2} for value in ("a", 3, [True], None, {"k": None})]
    assert [text.split(" ")[0] for text in chat.render(mixed)["prompt"].to_pylist()] == [
        "a",
        "3",
        "[True]",
        "none",
        "{'k':",
    ]


def test_a_column_of_all_arguments() -> None:
    chat = ChatTemplate("{{ a }}{{ tools | length }}{{ b is defined }}", a=1, argument_columns={"*": "kwargs"})
    tools = [tool("f")]
    given = [
        {"a": 2, "tools": tools},
        {"a": None, "tools": []},
        {"a": 3, "b": 1, "tools": tools},
        {"a": 5, "tools": tools},
    ]
    with pytest.raises(RenderError, match="NoneType"):
        texts(chat, pa.array(given), "kwargs")
    chat = ChatTemplate(chat.source.replace("tools |", "(tools or []) |"), a=1, argument_columns={"*": "kwargs"})
    assert texts(chat, pa.array(given), "kwargs") == ["21False", "10False", "31True", "51False"]
    fixed = ChatTemplate("{{ tools }}", tools=tools, argument_columns={"*": "kwargs"})
    assert texts(fixed, pa.array([{"tools": []}, {"tools": None}] * 2), "kwargs") == ["None", str(tools)] * 2
    of_json = ['{"tools": []}', '{"tools": null}', "{}", None]
    assert texts(fixed, of_json * 2, "kwargs") == ["None", "None", str(tools), str(tools)] * 2
    written = [json.dumps(value) for value in given]
    assert (
        texts(chat, pa.array([*written, None, "{}"] * 2), "kwargs")
        == [*("21False", "None0False", "31True", "51False", "10False", "10False")] * 2
    )


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([None, "no"]), r'row 1, column "tools": the text is no JSON: Expecting'),
        (pa.array([None, "3"]), r'row 1, column "tools": expected a list of tools, or one as JSON, found 3'),
        (pa.array([None, "[1]"]), r"row 1.*tools\[0\]: expected a dict, or one as JSON, found 1"),
        (pa.array([None, '{"name": "f"}']), "found {'name': 'f'}"),
        (pa.array([None, 3]), "found 3; argument_columns={} says that the column isn't the template's 'tools'"),
        (pa.array([[], [1]]), r"tools\[0\]: expected a dict, or one as JSON, found 1"),
        (pa.array([[], ["{}", None]]), r"tools\[1\]: expected a dict, or one as JSON, found None"),
        (pa.array([[], [{"a": 1}, None]]), r"tools\[1\]: expected a dict"),
        (pa.array([None, {"a": 1}]), "expected a list of tools"),
        (pa.array(["", "[" * 2000]), 'row 1, column "tools"'),
    ],
)
def test_what_is_no_list_of_tools_is_an_error_of_its_row(column: pa.Array, message: str) -> None:
    for source in (SOURCES["json"], SOURCES["inside"]):
        with pytest.raises(RenderError, match=message) as caught:
            texts(ChatTemplate(source), column)
        assert (caught.value.code, caught.value.column) == ("unconvertible_value", "tools")
    table = pa.table({"messages": [MESSAGES] * 2, "tools": column})
    errors = ChatTemplate(SOURCES["json"]).render(table, errors="column")["error"]
    assert "unconvertible_value" in errors[caught.value.row].as_py()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[]", "expected a dict of arguments, or one as JSON, found []"),
        ('{"messages": 1}', "it has 'messages', which is the same for all rows"),
        ('{"tools": 1}', "expected a list of tools"),
        ('{"a": 1}', "it has 'a', for which there is a column too"),
    ],
)
def test_what_is_no_dict_of_arguments_is_an_error_of_its_row(value: str, message: str) -> None:
    chat = ChatTemplate("{{ a }}{{ tools }}", argument_columns={"*": "kwargs", "a": "a"})
    table = pa.table({"messages": [MESSAGES] * 3, "kwargs": [None, value, value], "a": [None, None, 1]})
    with pytest.raises(RenderError) as caught:
        chat.render(table)
    assert message in str(caught.value)
    assert (caught.value.row, caught.value.column) == (1, "kwargs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"argument_columns": ["tools"]}, "expected a dict"),
        ({"argument_columns": {"tools": 1}}, "'tools': 1"),
        ({"argument_columns": {"messages": "m"}}, "no column holds it"),
        ({"argument_columns": {"tools": "t"}, "tools": []}, "give it once"),
        ({"argument_columns": {"x": "t"}, "x": 1}, "give it once"),
    ],
)
def test_wrong_columns_of_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TemplateError, match=message) as caught:
        ChatTemplate("", **arguments)
    assert caught.value.path == "argument_columns"


def test_columns_are_read_by_default_where_the_template_reads_them() -> None:
    table = pa.table({"messages": [MESSAGES] * 2, "tools": ["[{}]", None], "documents": ["no JSON"] * 2})
    chat = ChatTemplate("{{ tools }}")
    assert chat.render(table)["prompt"].to_pylist() == ["[{}]", "None"]
    assert chat.last_run.argument_columns == {"tools": "tools"}
    off, fixed = ChatTemplate("{{ tools }}", argument_columns={}), ChatTemplate("{{ tools }}", tools=[])
    assert off.render(table)["prompt"].to_pylist() == ["None"] * 2
    assert fixed.render(table)["prompt"].to_pylist() == ["[]"] * 2
    assert off.last_run.argument_columns == fixed.last_run.argument_columns == {}
    named = ChatTemplate("{{ tools }}", argument_columns={"tools": "functions"})
    with pytest.raises(RenderError, match="has no such column, which argument_columns= names for 'tools'"):
        named.render(table)
    assert (chat.required_columns, named.required_columns) == (["messages"], ["messages", "functions"])
    assert len({chat, off, named}) == 3
    assert len({template.fingerprint() for template in (chat, off, named)}) == 3
    assert pickle.loads(pickle.dumps(named)) == named
    assert "argument_columns={'tools': 'functions'}" in repr(named)


def test_origins_are_the_columns_however_a_row_is_rendered() -> None:
    tools = [[tool("f", x="é"), tool("g")], [tool("h", y=[1, {"z": None}])]] * 3
    column = pa.array(list(map(json.dumps, tools)))
    table = pa.table({"messages": [MESSAGES] * 6, "tools": column})
    for source in SOURCES.values():
        compiled = ChatTemplate(source).render(table, spans="detailed")["spans"].to_pylist()
        rows = [ChatTemplate(source).render(table.slice(row, 1), spans="detailed") for row in range(6)]
        assert [row["spans"][0].as_py() for row in rows] == compiled
        origins = {(span["source"], span["column"]) for spans in compiled for span in spans if span["path"]}
        assert ("argument", "tools") in origins


def test_a_chat_template_after_other_prompts_has_the_columns_of_the_samples() -> None:
    chat = ChatTemplate("{{ messages[0].content }}{{ tools | tojson }}")
    table = pa.table({"q": ["a", "b", "c"], "tools": ['[{"n": 1}]', None, '[{"n": 2}]']})
    expected = ['Qa[{"n": 1}]', "Qbnull", 'Qc[{"n": 2}]']
    configured = Renderer("Q{q}", chat_template=chat)
    assert configured.render(table)["prompt"].to_pylist() == expected
    assert StagedRenderer(JinjaTemplate("Q{{ q }}"), chat).stream(table).read_all()["prompt"].to_pylist() == expected
    ordered = configured.render(table, order="prefix", index="row")
    assert ordered.sort_by("row")["prompt"].to_pylist() == expected
    spans = configured.render(table, spans="detailed")["spans"][0].as_py()
    assert (spans[-1]["source"], spans[-1]["column"]) == ("argument", "tools")
    assert engine_of(configured).columns_read(["x", "q", "tools"]) == ["q", "tools"]
    named = ChatTemplate(chat.source, argument_columns={"tools": "t"})
    assert Renderer("Q{q}", chat_template=named).required_columns == ["q", "t"]
    with pytest.raises(RenderError, match='column "t": the table has no such column'):
        Renderer("Q{q}", chat_template=named).render(table)
    with pytest.raises(RenderError, match='row 1, column "tools": the text is no JSON'):
        configured.render(table.set_column(1, "tools", pa.array([None, "x", None])))
    codes = pp.Renderer("Q{q}", chat_template=chat).audit(table)["code"].to_pylist()
    assert "unrenderable_row" not in codes


def test_chunks_and_slices_keep_rows_together() -> None:
    tools = [json.dumps([{"n": number}]) for number in range(10)]
    messages = [[{"role": "user", "content": str(number)}] for number in range(10)]
    chunked = pa.chunked_array([tools[:3], tools[3:4], tools[4:]])
    table = pa.table({"messages": pa.chunked_array([messages[:7], messages[7:]]), "tools": chunked})
    chat = ChatTemplate("{{ messages[0].content }}{{ tools[0] | tojson }}")
    expected = [f'{number}{{"n": {number}}}' for number in range(10)]
    assert chat.render(table)["prompt"].to_pylist() == expected
    assert chat.render(table.slice(2, 6))["prompt"].to_pylist() == expected[2:8]
    assert chat.render(table.slice(0, 0)).num_rows == 0
