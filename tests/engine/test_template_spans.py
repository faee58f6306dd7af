"""Spans of Jinja and chat templates: each character's span says where it comes from.

The oracle is the alphabet: each column, and each text of a conversation, is written in letters of its own, so that any
character says itself what it is a part of, whatever the template does with it.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from marks import UNWARNED
from promptpress import ChatTemplate, JinjaTemplate, RenderError
from promptpress._jinja import run as jinja_run
from test_recorded_cases import SHARED, lines_of

ALPHABETS = {"q": "абвгдежз", "r": "αβγδεζηθ", "t": "אבגדהוזח"}
"""Letters of columns; those of templates are Latin."""

FIRST_CHARACTER = 0xE000
"""Messages have characters of private use: 64 for each text of a conversation."""

_EXPRESSIONS = [
    "{X}", "{X} | trim", "{X} | upper", "{X}.strip()", "{X}[:3]", "{X}[1:]", "{X} ~ {Y}", "({X} ~ {Y}) | upper",
    "{X} | default('none')", "{X} if {Y} else {Z}", "{X} or {Y}", "[{X}, {Y}] | join(', ')", "'yes' if {X} else 'no'",
    "{X} | replace('zz', 'x')", "'const' | upper", "{X}.split(' ')[0]", "{X} | length", "{X} ~ '-' ~ {X}",
    "{X} | title",
    "{X}.rstrip() ~ {Y}.lstrip()", "xs | join(' ')", "xs[0]", "xs | first ~ {X}", "xs | length", "({X} ~ ' ').strip()",
]  # fmt: skip
_STATEMENTS = [
    "{{{{ {E} }}}}", "text {{{{ {E} }}}}", "{{% if {X} %}}then {{{{ {E} }}}}{{% else %}}other{{% endif %}}",
    "{{% for x in xs %}}({{{{ x }}}}){{% endfor %}}", "{{% set v = {E} %}}{{{{ v }}}}",
    "{{% if {X} == {Y} %}}same{{% endif %}}",
    "{{% filter upper %}}a {{{{ {X} }}}}{{% endfilter %}}",
    "{{% macro m(v) %}}<{{{{ v }}}}>{{% endmacro %}}{{{{ m({E}) }}}}",
]  # fmt: skip


def draw_template(rng: random.Random) -> str:
    def expression() -> str:
        names = [rng.choice("qrt") for _ in "XYZ"]
        return rng.choice(_EXPRESSIONS).format(X=names[0], Y=names[1], Z=names[2])

    return "".join(
        rng.choice(_STATEMENTS).format(E=expression(), X=rng.choice("qrt"), Y=rng.choice("qrt"))
        for _ in range(rng.randrange(1, 6))
    )


def draw_table(rng: random.Random, rows: int) -> pa.Table:
    def text(column: str) -> str:
        return "".join(rng.choice([*ALPHABETS[column], " "]) for _ in range(rng.choice([0, 1, 3, 40])))

    columns: dict[str, Any] = {column: [text(column) for _ in range(rows)] for column in ALPHABETS}
    columns["xs"] = [["ⴰ" * rng.randrange(4) for _ in range(rng.choice([1, 1, 3]))] for _ in range(rows)]
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
    arrays = {name: pa.array(values, rng.choice(kinds)) for name, values in columns.items() if name != "xs"}
    return pa.table({**arrays, "xs": pa.array(columns["xs"], pa.list_(pa.string()))})


def check_partition(text: str, spans: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Check that spans cover a text without gaps; yield each span's text."""
    encoded = text.encode()
    end = 0
    for span in spans:
        assert span["start"] == end < span["end"]
        end = span["end"]
        yield encoded[span["start"] : end].decode(), span
    assert end == len(encoded)


def column_of(character: str) -> str | None:
    """Return the column whose letter a character is."""
    if character == "ⴰ":
        return "xs"
    name = unicodedata.name(character, "")
    return next((c for c, word in (("q", "CYRILLIC"), ("r", "GREEK"), ("t", "HEBREW")) if name.startswith(word)), None)


def check_row(text: str, spans: list[dict[str, Any]]) -> int:
    exact = 0
    for part, span in check_partition(text, spans):
        columns = {column_of(character) for character in part} - {None}
        if span["source"] == "template":
            assert not columns, (part, span)
            assert span["column"] is None
        elif span["source"] == "field":
            assert columns <= {span["column"]}, (part, span)
            exact += 1
        else:
            assert span["source"] in {"computed", "jinja2"}
            assert span["column"] is None
    return exact


def check_templates(seed: int, count: int) -> int:
    rng = random.Random(seed)
    exact = 0
    for _ in range(count):
        source, table = draw_template(rng), draw_table(rng, 40)
        template = JinjaTemplate(source)
        plain = template.render(table)["prompt"].to_pylist()
        spanned = template.render(table, spans="detailed")
        assert spanned["prompt"].to_pylist() == plain
        for text, spans in zip(plain, spanned["spans"].to_pylist(), strict=True):
            try:
                exact += check_row(text, spans)
            except AssertionError as error:
                raise AssertionError(source, text, spans) from error
        batches = table.to_batches(max_chunksize=7)
        assert (
            template.stream(batches, spans="detailed").read_all()["spans"].to_pylist() == spanned["spans"].to_pylist()
        )
    return exact


def test_each_character_is_of_its_column() -> None:
    assert check_templates(7, 120) > 1000


@pytest.mark.full
def test_each_character_is_of_its_column_at_length() -> None:
    for seed in range(100, 120):
        assert check_templates(seed, 300)


CHATS = [
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>{% endfor %}",
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] | upper }}] {{ m['content'] | trim }}\n{% endfor %}",
    "{% if messages[0].role == 'system' %}{% set s = messages[0].content %}"
    "{% else %}{% set s = 'Be kind.' %}{% endif %}"
    "{% for m in messages if m.role != 'system' %}{{ m.role }}: {{ (s ~ ' ' if loop.first else '') ~ m.content }}\n"
    "{% endfor %}",
    "{% for m in messages %}{% set c = m.content %}"
    "{% if '</think>' in c %}{% set c = c.split('</think>')[-1] %}{% endif %}"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ c }}"
    "{% for t in m.tool_calls or [] %}<{{ t.function.name }}:{{ t.function.arguments }}>{% endfor %}|{% endfor %}",
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{{ p.text }};{% endfor %}{% endif %}{% endfor %}{{ messages | length }}",
    "{{ messages | map(attribute='content') | join('/') }}",
]


class Writer:
    """Writes the texts of a conversation, each in characters of its own, and remembers their places."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.paths: list[tuple[int, str]] = []

    def text(self, message: int, path: str) -> str:
        first = FIRST_CHARACTER + 64 * len(self.paths)
        self.paths.append((message, path))
        length = self._rng.choice([0, 1, 5, 30])
        body = "".join(chr(first + self._rng.randrange(64)) for _ in range(length))
        return self._rng.choice(["", " ", "\n"]) + body + self._rng.choice(["", " ", "</think>", "\n\n"])

    def place_of(self, character: str) -> tuple[int, str] | None:
        number = (ord(character) - FIRST_CHARACTER) // 64
        return self.paths[number] if 0 <= number < len(self.paths) else None


def draw_conversation(rng: random.Random) -> tuple[list[dict[str, Any]], Writer]:
    writer = Writer(rng)
    roles = [*(["system"] if rng.random() < 0.4 else []), *(["user", "assistant"] * rng.choice([1, 2, 3]))]
    kind = rng.choice(["text", "text", "parts", "reasoning", "calls"])
    messages: list[dict[str, Any]] = []
    for number, role in enumerate(roles):
        message: dict[str, Any] = {"role": role}
        if kind == "parts":
            texts = [writer.text(number, f"content[{part}].text") for part in range(rng.choice([1, 2]))]
            message["content"] = [{"type": "text", "text": text} for text in texts]
        else:
            message["content"] = writer.text(number, "content")
        if kind == "reasoning" and role == "assistant":
            message["reasoning_content"] = writer.text(number, "reasoning_content")
        if kind == "calls" and role == "assistant":
            arguments = writer.text(number, "tool_calls[0].function.arguments")
            message["tool_calls"] = [{"type": "function", "function": {"name": "f", "arguments": arguments}}]
        messages.append(message)
    return messages, writer


def check_chats(sources: list[str], seed: int, conversations: int, **variables: Any) -> int:
    rng = random.Random(seed)
    exact = 0
    for source in sources:
        drawn = [draw_conversation(rng) for _ in range(conversations)]
        # JSON texts may differ in their keys, which Arrow's structs may not.
        talks = [json.dumps(messages, ensure_ascii=False) for messages, _ in drawn]
        table = pa.table({"messages": pa.array(talks * 3)})
        spanned = ChatTemplate(source, **variables).render(table, spans="detailed", errors="column")
        for row, rendered in enumerate(spanned.to_pylist()):
            messages, writer = drawn[row % len(drawn)]
            if rendered["error"] is not None:
                assert rendered["spans"] is None
                continue
            for part, span in check_partition(rendered["prompt"], rendered["spans"]):
                paths = {writer.place_of(character) for character in part} - {None}
                if span["source"] == "template":
                    assert not paths, (source, part, span)
                elif span["source"] == "field":
                    assert paths <= {(span["message"], span["path"])}, (source, part, span)
                    assert span["role"] == messages[span["message"]]["role"]
                    assert span["column"] == "messages"
                    exact += 1
    return exact


def test_each_character_is_of_its_message() -> None:
    assert check_chats(CHATS, 11, 60) > 1500


def shipped_templates() -> list[dict[str, Any]]:
    file = SHARED / "chat_templates" / "templates.jsonl.gz"
    if not file.exists():
        pytest.skip("recorded chat templates are not at hand")
    return [json.loads(line) for line in lines_of(file)]


def check_shipped(templates: list[dict[str, Any]], seed: int) -> int:
    return sum(check_chats([recorded["template"]], seed, 12, **recorded["special_tokens"]) for recorded in templates)


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_each_character_is_of_its_message_in_shipped_templates() -> None:
    assert check_shipped(shipped_templates()[::25], 3) > 500


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_each_character_is_of_its_message_in_all_shipped_templates() -> None:
    assert check_shipped(shipped_templates(), 5) > 10_000


def test_schema_and_layouts() -> None:
    table = pa.table({"q": ["a", "b"]})
    for strings in ("string", "large_string", "string_view"):
        template = JinjaTemplate("<{{ q }}>", strings=strings)  # type: ignore[arg-type]
        for spans in (True, "detailed"):
            rendered = template.render(table, spans=spans, hashes=True)  # type: ignore[arg-type]
            assert rendered.schema == template.output_schema(table.schema, spans=spans, hashes=True)  # type: ignore[arg-type]
            assert [span["source"] for span in rendered["spans"][1].as_py()] == ["template", "field", "template"]
        assert template.render(table.slice(0, 0), spans=True).num_rows == 0
    chat = ChatTemplate("{{ messages[0].content }}")
    assert chat.output_schema(pa.schema({"messages": pa.string()}), spans=True).names == ["prompt", "spans"]


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_rows_of_jinja2_are_one_span(monkeypatch: pytest.MonkeyPatch) -> None:
    template = JinjaTemplate("{{ day.strftime('%Y') }}")
    table = pa.table({"day": [date(2024, 2, 29)] * 5})
    unknown = {"start": 0, "end": 4, "source": "jinja2", "column": None, "example": None, "role": None}
    assert template.render(table.slice(3), spans="detailed")["spans"].to_pylist() == [[unknown]] * 2
    monkeypatch.setattr(jinja_run, "_BLOCK", 2)
    assert template.render(table, spans="detailed")["spans"].to_pylist() == [[unknown]] * 5


@UNWARNED
def test_rows_with_errors_have_no_spans() -> None:
    table = pa.table({"a": [1, 0, 2]})
    rendered = JinjaTemplate("{{ 6 // a }}").render(table, spans=True, errors="column")
    assert rendered["prompt"].to_pylist() == ["6", None, "3"]
    assert [spans is None for spans in rendered["spans"].to_pylist()] == [False, True, False]
    with pytest.raises(RenderError):
        JinjaTemplate("{{ 6 // a }}").render(table, spans=True)
