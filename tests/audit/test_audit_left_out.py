"""The audit of what chat templates leave out."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pytest

TWO_ROLES = "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}{{ m.content }}{% endif %}{% endfor %}"
USER = {"role": "user", "content": "q"}
CALL = {"role": "assistant", "content": "a", "tool_calls": [{"type": "function", "function": {"name": "f"}}]}


def test_the_audit_finds_what_is_left_out() -> None:
    chat = pp.ChatTemplate("{{ bos_token }}" + TWO_ROLES)
    rows: list[dict[str, Any]] = [
        {"messages": [USER]},
        {"messages": "bad"},
        {"messages": [USER, {"role": "robot", "content": "LOST"}]},
        {"messages": [CALL]},
    ]
    findings = {row["code"]: row for row in chat.audit(rows).to_pylist()}
    assert findings["message_left_out"]["first_rows"] == findings["role_unknown_to_template"]["first_rows"] == [2]
    assert findings["tool_call_left_out"]["first_rows"] == [3]
    assert findings["bos_missing"]["severity"] == "warning"
    assert "bos_missing" not in pp.ChatTemplate("{{ bos_token | default('') }}x").audit(rows[:1])["code"].to_pylist()
    assert "bos_missing" not in pp.ChatTemplate("{{ bos_token }}", bos_token="<s>").audit(rows[:1])["code"].to_pylist()


@pytest.mark.parametrize(
    ("code", "message", "arguments"),
    [
        ("message_left_out", {"role": "robot", "content": "LOST"}, {}),
        ("tool_call_left_out", CALL, {}),
        ("reasoning_left_out", {"role": "assistant", "content": "a", "reasoning_content": "r"}, {}),
        ("name_left_out", {**USER, "name": "n"}, {}),
        ("tools_left_out", USER, {"tools": [{"type": "function", "function": {"name": "f"}}]}),
        ("documents_left_out", USER, {"documents": [{"title": "t", "text": "d"}]}),
    ],
)
def test_each_part_by_itself(code: str, message: dict[str, Any], arguments: dict[str, Any]) -> None:
    rows = [{"messages": [USER]}, {"messages": [message, USER]}]
    chat = pp.ChatTemplate(TWO_ROLES, **arguments)
    wanted = [[0, 1] if arguments else [1]]
    assert chat.audit(rows, only=[code])["first_rows"].to_pylist() == wanted
    assert code in chat.audit(rows)["code"].to_pylist()
    assert code not in chat.audit(rows, allow=[code])["code"].to_pylist()
    assert chat.audit(rows[:1], only=[code]).num_rows == bool(arguments)
