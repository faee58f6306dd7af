"""The type of spans' positions: that of Arrow's own offsets into the prompts."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

SAMPLES = pa.table(
    {"q": ["1+1?", "", "é\n"], "messages": [[{"role": "user", "content": text}] for text in ("a", "", "é")]}
)
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
MAKERS: dict[str, Any] = {
    "renderer": lambda **more: pp.Renderer("Q: {q}\nA:", **more),
    "messages": lambda **more: pp.Renderer({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, output="messages", **more),
    "jinja": lambda **more: pp.JinjaTemplate("Q: {{ q }}", **more),
    "chat": lambda **more: pp.ChatTemplate(CHAT, **more),
}


@pytest.mark.parametrize("detail", [True, "detailed"])
@pytest.mark.parametrize("name", MAKERS)
def test_positions_have_the_width_of_the_texts_offsets(name: str, detail: Any) -> None:
    tables = {
        strings: MAKERS[name](strings=strings).render(SAMPLES, spans=detail)
        for strings in ("string", "string_view", "large_string")
    }
    for strings, table in tables.items():
        wanted = pa.int64() if strings == "large_string" else pa.int32()
        fields = table.schema.field("spans").type.value_type
        assert {fields.field("start").type, fields.field("end").type} == {wanted}
        assert table["spans"].to_pylist() == tables["string"]["spans"].to_pylist()
    assert any(tables["string"]["spans"].to_pylist())
