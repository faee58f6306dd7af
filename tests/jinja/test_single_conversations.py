"""A single conversation, which a program renders without a table, next to the same conversation as a table."""

from __future__ import annotations

import random
import warnings
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of

pytest.importorskip("jinja2")

from promptpress import ChatTemplate
from promptpress._jinja.chat import shape_programs, single_conversations

TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
TEMPLATES = {
    "all": TURNS,
    "the users'": "{% for m in messages if m.role == 'user' %}{{ m.content | trim }}{% endfor %}",
    "first": "{{ messages[0].content }}{% if messages[0].content == 'a' %}{{ messages[-1].content }}{% endif %}",
    "branches": "{% for m in messages %}{{ m.content if m.content.startswith('a') else m.role }}{% endfor %}",
    "given up": "{% for m in messages %}{{ m.content | striptags if 'x' in m.content else m.content }}{% endfor %}",
    "raises": TURNS + "{% if 'x' in messages[-1].content %}{{ raise_exception('no') }}{% endif %}",
    "calls": TURNS + "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}",
    "keys": "{% for m in messages %}{{ m }}{% endfor %}",
    "reasoning": "{% for m in messages %}{{ m.reasoning_content }}{{ m.content }}{% endfor %}",
}
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": [1, 2.5, None, "é"], "b": {}}}}
DEEP: Any = "deep"
for _ in range(130):
    DEEP = [DEEP]
CONTENTS = ("a", "ax", "", " \n", "b\ud800", "é😀\0", '{"name": "f", "arguments": {}}', [{"type": "text", "text": "a"}])
MORE: tuple[dict[str, Any], ...] = (
    {},
    {"tool_calls": [CALL]},
    {"tool_calls": [{**CALL, "id": DEEP}]},
    {"reasoning_content": "r"},
    {"name": None},
    {"weight": 3},
    {"weight": float("nan")},
    {"weight": 1 << 70},
)


def conversation(rng: random.Random) -> list[Any]:
    roles = rng.choices(["user", "assistant", "system", "function_call"], [6, 6, 1, 1], k=rng.choice((1, 1, 2)))
    contents = rng.choices(CONTENTS, [9, 6, 6, 6, 1, 6, 3, 3], k=len(roles))
    more = rng.choices(MORE, [40, 6, 1, 6, 2, 2, 1, 1], k=len(roles))
    return [
        {"role": role, "content": content, **of_message}
        for role, content, of_message in zip(roles, contents, more, strict=True)
    ]


def outcome(chat: ChatTemplate, rows: Any, **options: Any) -> list[Any]:
    """Return what a call gives and says: table or error, warnings, counts."""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            table = chat.render(rows, **options)
        except pp.RenderError as error:
            return [type(error), str(error), error.row, error.column]
    counts = chat.last_run
    assert counts is not None
    return [table, table.schema, [str(warning.message) for warning in messages], counts, counts.lacking]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_single_conversation_is_as_in_a_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(name)
    source = TEMPLATES[name]
    strings = rng.choice(["string", "large_string"])
    singles, tables = (ChatTemplate(source, strings=strings) for _ in range(2))
    rendered = 0
    real = single_conversations.SingleConversations.rendered

    def counted(*arguments: Any) -> Any:
        nonlocal rendered
        out = real(*arguments)
        rendered += out is not None
        return out

    monkeypatch.setattr(single_conversations.SingleConversations, "rendered", counted)
    for _ in range(part_of(200)):
        rows = [{"messages": conversation(rng)}]
        # Rows as a dict of lists are the same table.
        assert outcome(singles, rows) == outcome(tables, {"messages": [rows[0]["messages"]]}), rows
    assert singles.compiled == tables.compiled
    assert rendered > 0


def test_one_row_in_some_thousand_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_programs, "CHECKED_ONE_IN", 4)
    monkeypatch.setattr(single_conversations, "CHECKED_ONE_IN", 4)
    chat = ChatTemplate(TURNS)
    checked = []
    for _ in range(9):
        chat.render([{"messages": [{"role": "user", "content": "a"}]}])
        assert chat.last_run is not None
        checked.append(chat.last_run.checked)
    assert checked == [0, 1, 0, 0, 1, 0, 0, 0, 1]


def test_other_rows_are_tables() -> None:
    """What has other columns, options or arguments of rows is a table, whose errors name its columns."""
    chat = ChatTemplate(TURNS + "{{ tools }}")
    row: dict[str, Any] = {"messages": [{"role": "user", "content": "a"}]}
    for _ in range(3):
        chat.render([row])
    assert chat.render([{**row, "tools": [{"name": "f"}]}])["prompt"][0].as_py() == "<user>a[{'name': 'f'}]"
    assert chat.render([{**row, "id": 1}], keep=["id"]).column_names == ["id", "prompt"]
    assert chat.render([row], errors="column").column_names == ["prompt", "error"]
    assert chat.render([row], spans=True).column_names == ["prompt", "spans"]
    named = ChatTemplate(TURNS, argument_columns={"tools": "functions"})
    with pytest.raises(pp.RenderError, match="no such column"):
        named.render([row])
    assert chat.render([row]) == pa.table({"prompt": ["<user>aNone"]})
