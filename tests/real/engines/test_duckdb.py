"""Renderers as functions of DuckDB, next to what they give by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promptpress as pp
import promptpress.duckdb
import pyarrow as pa
import pytest

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("jinja2")

SOURCE = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
MESSAGES = [
    [{"role": "user", "content": "One?"}],
    [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "é\n"}],
]
SAMPLES = pa.table({"question": ["1+1", None], "answer": [2, 4], "messages": MESSAGES})
API = [{"role": "HUMAN", "api_role": "user"}, {"role": "BOT", "api_role": "assistant", "generate": True}]


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect() as made:
        made.register("samples", SAMPLES)
        yield made


def column(connection: Any, expression: str, tail: str = "") -> list[Any]:
    return [row[0] for row in connection.sql(f"SELECT {expression} FROM samples {tail}").fetchall()]


def test_conversations(connection: Any) -> None:
    chat = pp.ChatTemplate(SOURCE, bos_token="^")
    promptpress.duckdb.register(connection, "chat", chat)
    wanted = chat.render(SAMPLES)["prompt"].to_pylist()
    for messages in ("messages", "to_json(messages)", "to_json(messages)::VARCHAR", "{'messages': messages}"):
        assert column(connection, f"chat({messages})") == wanted
    assert column(connection, "chat([{'role': 'user', 'content': question || '?'}])", "WHERE answer = 2") == [
        "^<user>1+1?"
    ]
    assert column(connection, "chat(samples)") == wanted


def test_the_tools_of_each_row(connection: Any) -> None:
    source = "{{ messages[0].content }}{{ tools | tojson }}"
    tools = ['[{"n": 1}]', None]
    connection.register("samples", SAMPLES.append_column("tools", pa.array(tools)))
    promptpress.duckdb.register(connection, "of_row", pp.ChatTemplate(source))
    promptpress.duckdb.register(connection, "of_columns", pp.ChatTemplate(source, argument_columns={"tools": "tools"}))
    wanted = ['One?[{"n": 1}]', "Two?null"]
    assert column(connection, "of_row(samples)") == column(connection, "of_columns(messages, tools)") == wanted
    assert column(connection, "of_row(messages)") == ["One?null", "Two?null"]


@pytest.mark.parametrize(
    "renderer",
    [
        "Q: {question} A: {answer}",
        pp.Renderer("Q: {question} A: {answer}"),
        pp.JinjaTemplate("Q: {{ question }} A: {{ answer }}"),
        pp.Renderer("Q: {question} A: {answer}", strings="large_string"),
        pp.Renderer("Q: {question} A: {answer}", strings="string_view"),
    ],
    ids=["text", "renderer", "jinja", "large", "views"],
)
def test_rows(connection: Any, renderer: Any) -> None:
    wanted = ["Q: 1+1 A: 2", "Q: None A: 4"]
    promptpress.duckdb.register(connection, "prompt", renderer)
    order = "question, answer" if isinstance(renderer, str) else ", ".join(renderer.required_columns)
    assert column(connection, "prompt(samples)") == wanted
    assert column(connection, f"prompt({order})") == wanted
    assert column(connection, "prompt({'answer': answer, 'question': question, 'more': 1})") == wanted


def test_messages(connection: Any) -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "Q: {question}"}, {"role": "BOT", "prompt": ""}]}
    renderer = pp.Renderer(template, meta_template={"round": API}, output="openai")
    promptpress.duckdb.register(connection, "messages_of", renderer)
    assert column(connection, "messages_of(samples)") == renderer.render(SAMPLES).column(0).to_pylist()


def test_many_rows_and_none(connection: Any) -> None:
    promptpress.duckdb.register(connection, "prompt", "{n}")
    rows = connection.sql("SELECT prompt({'n': n}) FROM range(10000) numbers(n)").fetchall()
    assert [row[0] for row in rows] == [str(number) for number in range(10_000)]
    assert connection.sql("SELECT prompt({'n': n}) FROM range(0) numbers(n)").fetchall() == []


def test_errors(connection: Any) -> None:
    with pytest.raises(TypeError, match="expected a connection of DuckDB, found a str"):
        promptpress.duckdb.register("file.db", "prompt", "{n}")
    with pytest.raises(TypeError, match="found a int"):
        promptpress.duckdb.register(connection, "prompt", 3)
    promptpress.duckdb.register(connection, "prompt", "{question}{answer}")
    promptpress.duckdb.register(connection, "chat", pp.ChatTemplate(SOURCE))
    for expression, message in [
        ("prompt(question)", r"expected a column for each that the templates read \('question', 'answer'\), found 1"),
        ("chat(NULL)", "row 0.*it is null"),
        ("chat('no json')", "row 0.*and it is no JSON"),
    ]:
        with pytest.raises(duckdb.Error, match=message):
            column(connection, expression)
