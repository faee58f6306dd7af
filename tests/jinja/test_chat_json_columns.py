"""Columns of conversations with JSON in them: as a whole, for each message, and for a field of messages."""

from __future__ import annotations

import json
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from parts.small_tokenizers import small_tokenizer

pytest.importorskip("jinja2")
pytestmark = pytest.mark.skipif(not hasattr(pa, "json_"), reason="this pyarrow has no type for JSON")

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<call>{{ c.id }}{{ c.function.name }}{{ c.function.arguments|tojson }}</call>{% endfor %}<|im_end|>\n{% endfor %}"
)
ROWS = 40


def talk(number: int) -> list[dict[str, Any]]:
    arguments = {"n": number, "x": [1.5, None, "é"], f"k{number % 3}": {"deep": True}}
    call = {"id": f"call_{number}", "function": {"name": "f", "arguments": arguments}}
    result = [number, {"of": number}, f"text {number}", None][number % 4]
    return [
        {"role": "user", "content": f"q{number}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": result},
        {"role": "assistant", "content": "ok"},
    ]


TALKS = [talk(number) for number in range(ROWS)]


def json_of(values: list[Any]) -> Any:
    texts = [None if value is None else json.dumps(value) for value in values]
    return pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string()))


def columns() -> dict[str, Any]:
    messages = [message for row in TALKS for message in row]
    ends = pa.array(range(0, len(messages) + 1, 4), pa.int32())
    fields = [
        pa.array([message["role"] for message in messages]),
        json_of([message.get("content") for message in messages]),
        json_of([message.get("tool_calls") for message in messages]),
    ]
    structs = pa.StructArray.from_arrays(fields, ["role", "content", "tool_calls"])
    return {
        "conversations": json_of(TALKS),
        "messages": pa.ListArray.from_arrays(ends, json_of(messages)),
        "fields": pa.ListArray.from_arrays(ends, structs),
    }


@pytest.mark.parametrize("kind", ["conversations", "messages", "fields"])
def test_they_are_as_rows_of_python(kind: str) -> None:
    table = pa.table({"messages": columns()[kind]})
    rows = [{"messages": row} for row in TALKS]
    chat, tokenizer = pp.ChatTemplate(TEMPLATE), small_tokenizer()
    assert chat.render(table).to_pylist() == pp.ChatTemplate(TEMPLATE).render(rows).to_pylist()
    assert chat.render(table)["prompt"].equals(chat.render(table)["prompt"])
    assert chat.last_run is not None
    assert chat.last_run.jinja2 == 0, "shapes that come again are compiled"
    masks = [
        pp.ChatTemplate(TEMPLATE).tokenize(samples, tokenizer, mask="assistant+end").to_pylist()
        for samples in (table, rows)
    ]
    assert masks[0] == masks[1]


@pytest.mark.parametrize("role", ["?", "i", "f", "{", "[", "=", "=?"])
def test_roles_that_look_like_slots_are_roles(role: str) -> None:
    chat = pp.ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.name }}{{ m.content }}{% endfor %}")
    rows = [{"messages": json.dumps([{"role": role, "name": "n", "content": f"c{n}"}])} for n in range(4)]
    for row in chat.render(rows, spans="detailed").to_pylist():
        text = row["prompt"].encode()
        texts = {span["path"]: text[span["start"] : span["end"]].decode() for span in row["spans"]}
        assert {path: text for path, text in texts.items() if path} == {
            "role": role, "name": "n", "content": row["prompt"][-2:],
        }  # fmt: skip


def test_a_message_that_is_no_json_is_an_error_of_its_row() -> None:
    messages = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"role": "user", "content": "q"}', '{"role": ']))
    table = pa.table({"messages": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), messages)})
    out = pp.ChatTemplate(TEMPLATE).render(table, errors="column").to_pylist()
    assert out[0]["error"] is None
    assert out[1]["error"].startswith("unconvertible_value")
