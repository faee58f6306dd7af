"""What of a chat template is compiled, as a table."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.shape_programs import ShapeProgram
from promptpress._jinja.chat.usual_shapes import usual_conversations

__all__ = ["compiled_table"]

_SCHEMA = pa.schema(
    [
        ("shape", pa.string()),
        ("rows", pa.int64()),
        ("compiled", pa.bool_()),
        ("line", pa.int64()),
        ("reason", pa.string()),
    ]
)


def compiled_table(renderer: ChatRenderer) -> pa.Table:
    """Which shapes have programs, and why rows leave them.

    Args:
        renderer: The template's.

    Returns:
        `shape`, `rows`, `compiled`, `line`, `reason`: a row for each shape and each reason.

    """
    known = renderer.programs.known()
    met = {skeleton for skeleton, *_ in known}
    rows: list[dict[str, Any]] = []
    for conversation in usual_conversations("?").values():
        shape = [{"role": f"={message['role']}", "content": "?"} for message in conversation]
        skeleton = json.dumps(shape, separators=(",", ":"))
        if skeleton not in met:
            rows += _rows(skeleton, 0, renderer.programs.compile(skeleton))
    for skeleton, count, program in known:
        rows += _rows(skeleton, count, program)
    return pa.Table.from_pylist(rows, _SCHEMA)


def _rows(skeleton: str, rows: int, program: ShapeProgram) -> list[dict[str, Any]]:
    own = {"shape": _called(json.loads(skeleton)), "rows": rows, "compiled": program.program is not None}
    nothing: tuple[tuple[int | None, str | None], ...] = ((None, None),)
    return [{**own, "line": line, "reason": reason} for line, reason in program.bails or nothing]


def _called(messages: Any) -> str:
    """The roles of a shape's messages, and what else they have."""
    names = []
    for message in messages:
        speaker = message.get("role", message.get("from")) if isinstance(message, dict) else None
        role = speaker[1:] if isinstance(speaker, str) else "?"
        usual = ("role", "from", "content", "value")
        more = [key for key, value in message.items() if key not in usual and value is not None] if role != "?" else []
        if isinstance(message, dict) and not isinstance(message.get("content", message.get("value", "")), str):
            more.append("parts" if isinstance(message.get("content"), list) else "no text")
        names.append(f"{role} ({', '.join(more)})" if more else role)
    return ", ".join(names)
