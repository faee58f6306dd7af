"""ChatTemplate: its verbs, its errors, and which rows go which way."""

from __future__ import annotations

import json
import pickle
import sys
import threading
import types
from typing import Any

import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("jinja2")

import promptpress as pp
from promptpress import ChatTemplate, RenderError, TemplateError
from promptpress._engine.table_engine import engine_of
from promptpress._jinja.chat import chat_renderer, shape_programs

LLAMA = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
THINKING = (
    "{% for m in messages %}{% set c = m.content %}{% if m.role == 'assistant' and '</think>' in c %}"
    "{% set c = c.split('</think>')[-1].lstrip('\n') %}{% endif %}[{{ m.role }}]{{ c }}"
    "{% if m.tool_calls %}{% for t in m.tool_calls %}<{{ t.function.name }}:{{ t.function.arguments }}>{% endfor %}"
    "{% endif %}{% endfor %}"
)
CHAT = [{"role": "user", "content": " Hi. "}, {"role": "assistant", "content": "Hello!"}]
TABLE = pa.table({"messages": [CHAT, CHAT, CHAT[:1], CHAT[:1]], "id": [4, 5, 6, 7]})


def test_verbs_give_the_same() -> None:
    chat = ChatTemplate(LLAMA, bos_token="<s>", add_generation_prompt=True, names={"prompt": "text"})
    table = chat.render(TABLE, keep=["id"], index="row")
    assert table.to_pylist()[2] == {"row": 2, "id": 6, "text": "<s><|user|>\nHi.<|end|><|assistant|>\n"}
    assert table.schema == chat.output_schema(TABLE.schema, ["id"], index="row")
    for rows in (1, 3, 9):
        stream = chat.stream(TABLE.to_batches(max_chunksize=rows), ["id"], index="row")
        assert stream.read_all().to_pylist() == table.to_pylist()
    (batch,) = TABLE.to_batches()
    called = chat(batch)
    assert isinstance(called, pa.RecordBatch)
    assert called.column_names == ["messages", "id", "text"]
    assert called["text"].to_pylist() == table["text"].to_pylist() == chat(TABLE)["text"].to_pylist()
    assert chat.required_columns == ["messages"]


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_layouts(strings: Any) -> None:
    chat = ChatTemplate("{{ messages[0].content }}", strings=strings)
    table = chat.render(TABLE)
    assert str(table.schema.field("prompt").type) == strings
    assert table["prompt"].to_pylist() == [" Hi. "] * 4
    assert chat.render(TABLE.slice(0, 0)).num_rows == 0
    assert chat.render(TABLE.slice(0, 0)).schema == table.schema
    assert chat(TABLE.to_batches()[0].slice(0, 0)).num_rows == 0


def test_equality_pickling_repr() -> None:
    chat = ChatTemplate(LLAMA, bos_token="<s>", tools=[{"a": (1, 2)}], enable_thinking=False)
    again = pickle.loads(pickle.dumps(chat))
    assert b"promptpress._" not in pickle.dumps(chat)
    assert again == chat
    assert hash(again) == hash(chat)
    assert again.render(TABLE).equals(chat.render(TABLE))
    assert chat != ChatTemplate(LLAMA, bos_token="<s>", tools=[{"a": (1, 2)}])
    assert chat != LLAMA
    assert repr(chat).startswith('ChatTemplate("{{ bos_token }}')
    assert "enable_thinking=False" in repr(chat)
    with pytest.raises(AttributeError, match="can't be changed"):
        chat.column = "x"


def test_the_report_counts_compiled_rows() -> None:
    chat = ChatTemplate(THINKING)
    assert chat.last_run is None
    chat.render(TABLE)
    assert chat.last_run is not None
    assert (chat.last_run.rows, chat.last_run.compiled, chat.last_run.jinja2) == (4, 0, 4)
    chat.render(TABLE)
    assert (chat.last_run.compiled, chat.last_run.reasons) == (4, {})
    compiled = {row["shape"]: row for row in chat.compiled.to_pylist()}
    assert compiled["user, assistant"]["rows"] == 3
    assert all(row["compiled"] for row in compiled.values())
    hopeless = ChatTemplate("{{ messages[0].content | striptags }}").compiled.to_pylist()[0]
    assert hopeless["compiled"] is False
    assert hopeless["line"] == 1
    assert hopeless["reason"]


def test_refuse_leaves_nothing_to_jinja2() -> None:
    chat = ChatTemplate(LLAMA, bos_token="", fallback="refuse")
    assert chat.render(TABLE).num_rows == 4
    assert chat.last_run is not None
    assert chat.last_run.jinja2 == 0
    with pytest.raises(RenderError, match=r"row 0.*nothing to Jinja2") as caught:
        ChatTemplate("{{ messages[0].content | striptags }}", fallback="refuse").render(TABLE)
    assert caught.value.code == "not_compiled"


@pytest.mark.parametrize(
    ("chat", "message"),
    [
        ([], "ValueError: Cannot apply chat template to an empty conversation"),
        (None, "ValueError: it is null"),
        ("[1]", "TypeError: Chat messages should be dicts, dataclasses or pydantic models, but got 1."),
        ("7", "ValueError: expected a list of messages"),
        ("[", "ValueError: a text stands where a list of messages is needed, and it is no JSON: Expecting value"),
        ('{"messages": [], "tools": [{}]}', "ValueError: it has 'tools' of its own"),
        ('[{"role": "critic", "content": ""}]', "TemplateError: no critics"),
        ('[{"role": "user", "content": "\\ud800"}]', "half a surrogate pair"),
    ],
)
def test_errors_name_the_row_and_say_what_the_engine_says(chat: Any, message: str) -> None:
    template = ChatTemplate(
        "{% for m in messages %}{% if m.role == 'critic' %}{{ raise_exception('no critics') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    good = [json.dumps(CHAT)] * 3 if chat is None or isinstance(chat, str) else [CHAT] * 3
    table = pa.table({"messages": pa.array([*good, chat])})
    with pytest.raises(RenderError) as caught:
        template.render(table)
    assert (caught.value.row, caught.value.column) == (3, "messages")
    assert caught.value.message.startswith(message) or message in caught.value.message
    with pytest.raises(RenderError, match="row 3"):
        template.stream(table.to_batches(max_chunksize=2)).read_all()


def test_a_row_that_spoils_its_table_is_found_in_a_compiled_shape() -> None:
    template = ChatTemplate("{% if messages[0].content == 'x' %}{{ raise_exception('x!') }}{% endif %}fine")
    says = [[{"role": "user", "content": text}] for text in ("a", "b", "c", "x", "d")]
    assert template.render(pa.table({"messages": says[:3]}))["prompt"].to_pylist() == ["fine"] * 3
    with pytest.raises(RenderError, match='row 3, column "messages": TemplateError: x!'):
        template.render(pa.table({"messages": says}))


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"source": 7}, "source"),
        ({"source": "{% if %}"}, "source"),
        ({"environment": "django"}, "environment"),
        ({"fallback": "minijinja"}, "fallback"),
        ({"strings": "utf8"}, "strings"),
        ({"column": 7}, "column"),
        ({"names": {"text": "x"}}, "names"),
        ({"names": ["x"]}, "names"),
        ({"names": {"prompt": ""}}, "names.prompt"),
        ({"tools": "x"}, "tools"),
        ({"tools": [7]}, "tools[0]"),
        ({"documents": {}}, "documents"),
        ({"documents": [7]}, "documents[0]"),
        ({"messages": []}, "messages"),
        ({"add_generation_prompt": True, "continue_final_message": True}, "continue_final_message"),
    ],
)
def test_faults_of_the_arguments(arguments: dict[str, Any], path: str) -> None:
    source = arguments.pop("source", "")
    with pytest.raises(TemplateError) as caught:
        ChatTemplate(source, **arguments)
    assert caught.value.path == path


def test_faults_of_the_table() -> None:
    chat = ChatTemplate("")
    with pytest.raises(RenderError, match=r"no such column.*it has 'mesages'; did you mean 'mesages'"):
        chat.render(pa.table({"mesages": [CHAT]}))
    with pytest.raises(RenderError, match="expected conversations") as caught:
        chat.render(pa.table({"messages": [1]}))
    assert caught.value.column == "messages"
    with pytest.raises(RenderError, match="has the name of an output column"):
        chat.render(pa.table({"messages": [CHAT], "prompt": [1]}), keep=["prompt"])


def test_a_difference_from_jinja2_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = ChatTemplate("{{ messages[0].content }}")
    chat.render(TABLE)  # shapes of few rows are compiled when they come again
    monkeypatch.setattr(engine_of(chat).renderer, "_plain_text", lambda *_: "other")
    with pytest.raises(RenderError, match=r"the compiled template gives ' Hi. ', and Jinja2 'other'"):
        chat.render(TABLE)


def test_types_that_only_python_reads() -> None:
    moment = pa.timestamp("s", "Europe/Berlin")
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("at", moment)])
    column = pa.array([[{"role": "user", "content": "a", "at": 5}]] * 3, pa.list_(message))
    chat = ChatTemplate("{{ messages[0].content }}{{ messages[0].at }}")
    assert chat.render(pa.table({"messages": column}))["prompt"].to_pylist() == ["a<datetime>"] * 3
    naive = pa.array([[{"role": "user", "content": "a", "at": None}], [{"role": "u", "content": "b", "at": 1}]] * 2)
    assert chat.render(pa.table({"messages": naive}))["prompt"].to_pylist() == ["a", "b1"] * 2


def test_shapes_beyond_the_bounds_are_jinja2_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_programs, "MAX_SHAPES", 3)
    monkeypatch.setattr(shape_programs, "MAX_PROGRAMS", 2)
    chats = [[{"role": f"role {number % 5}", "content": str(number)}] for number in range(100)]
    chat = ChatTemplate("{{ messages[0].role }}: {{ messages[0].content }}")
    rendered = chat.render(pa.table({"messages": chats}))["prompt"].to_pylist()
    assert rendered == [f"role {number % 5}: {number}" for number in range(100)]
    assert chat.last_run is not None
    assert chat.last_run.compiled == 38


def test_slices_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_renderer, "SLICE_ROWS", 7)
    chats = [[{"role": "user", "content": str(number)}] * (number % 3 + 1) for number in range(60)]
    table = pa.concat_tables([pa.table({"messages": chats[:25]}), pa.table({"messages": chats[25:]}).slice(0)])
    chat = ChatTemplate("{% for m in messages %}{{ m.content }},{% endfor %}")
    expected = [f"{number}," * (number % 3 + 1) for number in range(60)]
    assert chat.render(table)["prompt"].to_pylist() == expected
    assert chat.render(table.slice(11, 30))["prompt"].to_pylist() == expected[11:41]


def test_threads_share_a_template() -> None:
    chat, results = ChatTemplate(THINKING), []
    chats = [[{"role": "assistant", "content": f"<think>a</think>\n{number}"}] for number in range(500)]

    def work() -> None:
        results.append(chat.render(pa.table({"messages": chats}))["prompt"].to_pylist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[f"[assistant]{number}" for number in range(500)]] * 4


@pytest.mark.parametrize(
    ("source", "token", "starts"),
    [
        ("{{ bos_token }}{{ messages[0].content }}", "<s>", True),
        ("{{ messages[0].content }}", "<s>", False),
        ("{% if messages|length > 1 %}{{ bos_token }}{% endif %}x", "<s>", None),
        ("{{ raise_exception('no') }}", "<s>", None),
        ("{{ bos_token }}", "", None),
    ],
)
def test_whether_texts_begin_with_bos(source: str, token: str, starts: bool | None) -> None:
    assert ChatTemplate(source, bos_token=token).starts_with_bos is starts


CONTENTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["</think>", " ", "a\n"])
CALLS = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": st.sampled_from(["f", "g"]), "arguments": CONTENTS | st.none()})}
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": CONTENTS},
    optional={"tool_calls": st.lists(CALLS, max_size=2) | st.none(), "thinking": CONTENTS, "n": st.integers(0, 1)},
)


@settings(max_examples=part_of(50))
@given(chats=st.lists(st.lists(MESSAGES, min_size=1, max_size=2), min_size=1, max_size=6), data=st.data())
@pytest.mark.parametrize("source", [LLAMA, THINKING, "{{ messages | tojson }}", "{{ messages }}"])
def test_a_table_is_its_rows(source: str, chats: list[Any], data: st.DataObject) -> None:
    """A row alone is of a new shape, and so Jinja2's; in a table with itself it is a program's, where there is one."""
    column = pa.array([json.dumps(chat) for chat in chats])
    if data.draw(st.booleans()):
        column = pa.array(chats)
    alone = [
        ChatTemplate(source, bos_token="<s>").render(pa.table({"messages": column.slice(n, 1)}))
        for n in range(len(chats))
    ]
    expected = [table["prompt"][0].as_py() for table in alone]
    twice = pa.chunked_array([column, column, column])
    assert (
        ChatTemplate(source, bos_token="<s>").render(pa.table({"messages": twice}))["prompt"].to_pylist()
        == expected * 3
    )


def test_it_is_public_and_imported_late() -> None:
    assert ChatTemplate.__module__ == "promptpress"
    assert pp.ChatTemplate is ChatTemplate


@pytest.mark.parametrize("name", ["chat_template", "conversations", "return_assistant_tokens_mask"])
def test_variables_that_transformers_cannot_pass_on(name: str) -> None:
    with pytest.raises(pp.TemplateError, match=f"^{name}: transformers raises a TypeError"):
        ChatTemplate("{{ messages }}", **{name: True})
    ChatTemplate("{{ messages }}", environment="jinja2", **{name: True})


def test_functions_are_tools_by_their_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers makes the schemas; here a module stands for it, so that none need be installed."""
    utils = types.ModuleType("transformers.utils")
    utils.get_json_schema = lambda function: {"name": function.__name__, "parameters": ()}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", types.ModuleType("transformers"))
    monkeypatch.setitem(sys.modules, "transformers.utils", utils)

    def weather() -> None:
        """Say what the weather is."""

    chat = ChatTemplate("{{ tools }}", tools=[weather, {"name": "clock"}])
    table = pa.table({"messages": [[{"role": "user", "content": "Hi"}]]})
    assert chat.render(table)["prompt"].to_pylist() == ["[{'name': 'weather', 'parameters': ()}, {'name': 'clock'}]"]
