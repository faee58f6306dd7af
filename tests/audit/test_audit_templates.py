"""Audits of Jinja templates and chat templates: what is found in the texts, and in the values that they show."""

from __future__ import annotations

import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from promptpress import ChatTemplate, JinjaTemplate, Renderer, RenderError
from promptpress.typing import TableLike
from promptpress_workbench.cli import main

CHAT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
ODD = "a\x07b"
TOKEN = "<|im_end|>"


def findings(template: JinjaTemplate | ChatTemplate, samples: TableLike, **options: Any) -> dict[str, list[int]]:
    """Return the rows of each finding, keyed by code and column."""
    rows = template.audit(samples, **options).to_pylist()
    return {f"{row['code']} {row['column'] or ''}".strip(): row["first_rows"] for row in rows}


def test_values_count_where_the_text_shows_them() -> None:
    """The oracle is the text itself: every value is a word of its own."""
    generator = random.Random(5)
    template = JinjaTemplate("{{ q }}{% if more %} {{ hint }}{% endif %}{% if false %}{{ never }}{% endif %}")
    rows = [
        {
            "q": generator.choice(["one", ODD, TOKEN]),
            "hint": generator.choice(["two", ODD + "!", "!" + TOKEN, None]),
            "never": ODD,
            "more": generator.random() < 0.5,
        }
        for _ in range(300)
    ]
    samples = pa.Table.from_pylist(rows)
    texts = template.render(samples)["prompt"].to_pylist()
    first_rows = findings(template, samples)

    def first(word: str, needle: str) -> list[int]:
        return [
            n for n, (row, text) in enumerate(zip(rows, texts, strict=True)) if row[word] == needle and needle in text
        ]

    assert first_rows["control_character q"] == first("q", ODD)[:10]
    assert first_rows["control_character hint"] == first("hint", ODD + "!")[:10]
    assert first_rows["likely_special_token q"] == first("q", TOKEN)[:10]
    assert first_rows["likely_special_token hint"] == first("hint", "!" + TOKEN)[:10]
    nulls = [n for n, (row, text) in enumerate(zip(rows, texts, strict=True)) if row["hint"] is None and "None" in text]
    assert first_rows["null_value hint"] == nulls[:10]
    assert not [code for code in first_rows if code.endswith("never")]


def test_answers() -> None:
    samples = pa.table(
        {
            "q": ["what is it", "is it a long answer, or not", "what now", "what then"],
            "a": ["some other thing", "a long answer", "nothing at all", "none of these"],
        }
    )
    assert findings(JinjaTemplate("Q: {{ q }}"), samples, output_column="a") == {"answer_in_value q": [1]}
    table_of_findings = JinjaTemplate("Q: {{ q }}\nA: {{ a | trim }}").audit(samples, output_column="a").to_pylist()
    assert table_of_findings[0]["code"] == "answer_in_prompt"
    assert table_of_findings[0]["rows"] == 4
    assert (table_of_findings[0]["start"], table_of_findings[0]["end"]) == (17, 33)
    assert "answer_in_prompt" not in findings(JinjaTemplate("Q: {{ q }}\nA: {{ a }}"), samples)
    with pytest.raises(RenderError, match=r"no such column.*did you mean 'answer'"):
        JinjaTemplate("{{ q }}").audit(pa.table({"q": ["x"], "answer": ["y"]}), output_column="anwser")


def test_texts_are_those_that_a_configuration_makes() -> None:
    """Findings about texts alone are the same for a template and a configuration that render the same."""
    samples = pa.table({"q": ["a", "b", "a", " ", "long " * 9, "b"], "a": ["1", "2", "3", "4", "5", "2"]})
    template = findings(JinjaTemplate("{{ q }}"), samples, output_column="a", limits={"bytes": 40})
    renderer = Renderer("{q}", reader={"output_column": "a"})
    configured = {row["code"]: row["first_rows"] for row in renderer.audit(samples, limits={"bytes": 40}).to_pylist()}
    assert template == configured
    assert set(template) == {"equal_prompts", "duplicate_samples", "empty_prompt", "prompt_too_long"}


def test_chats() -> None:
    talks = [[("user", "Hi."), ("assistant", " a " + TOKEN)], [("user", "x"), ("assistant", ODD)], [("user", "Hi.")]]
    messages = [[{"role": role, "content": content} for role, content in talk] for talk in talks]
    samples = pa.table({"messages": messages, "other": [ODD] * 3})
    assert findings(ChatTemplate(CHAT), samples) == {
        "special_token messages": [0],  # the template has this token too
        "control_character messages": [1],
    }
    first_only = ChatTemplate("<s>{{ messages[0].content }}")
    assert findings(first_only, samples) == {
        "duplicate_samples": [0, 2],
        "message_left_out": [0, 1],
        "role_unknown_to_template": [0, 1],
    }
    doubled = ChatTemplate("<s><s>{{ messages[0].content }}")
    assert findings(doubled, samples)["double_bos"] == [0, 1, 2]


def test_rows_without_origins_count_as_showing_all_that_is_read() -> None:
    samples = pa.table({"q": ["a", ODD], "day": [date(2026, 3, 5)] * 2})
    for source, more in (("{{ q | escape }}", {}), ("{{ q }}{{ day.strftime('%Y') }}", {"unknown_origins": [0, 1]})):
        with pytest.warns(match="rendered by Jinja2 itself"):
            codes = findings(JinjaTemplate(source), samples)
        assert codes == {"control_character q": [1], **more}


def test_rows_count_over_batches() -> None:
    samples = pa.table({"q": ["a"] * 7 + [ODD] + ["b"] * 3 + [ODD]})
    batches = pa.RecordBatchReader.from_batches(samples.schema, samples.to_batches(max_chunksize=3))
    assert findings(JinjaTemplate("{{ q }}"), batches)["control_character q"] == [7, 11]


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text('{"q": "one", "a": "1"}\n{"q": "one", "a": "2"}\n', encoding="utf-8")
    command = ["audit", "--jinja", "Q: {{ q }}{{ a }}", "--data", "d.jsonl", "--answer", "a"]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert "error    answer_in_prompt  2 rows: 0, 1" in captured.out
    assert "promptpress show --data d.jsonl --jinja 'Q: {{ q }}{{ a }}' --row 0" in captured.out
    assert "Jinja2" not in captured.err
    assert main(["audit", "--jinja", "{{ q }}", "--data", "d.jsonl", "--quiet"]) == 0
    assert "duplicate_samples" in capsys.readouterr().out


def test_findings_that_a_model_file_allows_are_not_those_of_the_template(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`audit:` is read from the configuration of the prompts, never from that of the model."""
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text('{"q": "one"}\n{"q": "one"}\n', encoding="utf-8")
    meta = '{"round": [{"role": "HUMAN", "begin": "U: "}, {"role": "BOT", "begin": "A: ", "generate": true}]}'
    Path("m.json").write_text(
        f'{{"meta_template": {meta}, "audit": {{"allow": ["duplicate_samples"]}}}}', encoding="utf-8"
    )
    main(["audit", "--template", "{q}", "--model", "m.json", "--data", "d.jsonl"])
    assert "duplicate_samples" in capsys.readouterr().out


CALLS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %};{% endfor %}"
)


@pytest.mark.parametrize("column", ["rows", "structs", "sharegpt"])
def test_arguments_that_are_encoded_twice_are_found(column: str) -> None:
    def talk(number: int) -> list[dict[str, Any]]:
        call = {"name": "f", "arguments": json.dumps({"q": f'"ü" {number}'}, ensure_ascii=False)}
        if column == "sharegpt":
            return [{"from": "human", "value": "Hi."}, {"from": "function_call", "value": json.dumps(call)}]
        return [{"role": "user"}, {"role": "assistant", "tool_calls": [{"type": "function", "function": call}]}]

    rows: Any = [{"messages": talk(number)} for number in range(3)]
    rows.insert(1, {"messages": talk(0)[:1]})
    samples = rows if column == "rows" else pa.Table.from_pylist(rows)

    def rows_of(chat: ChatTemplate) -> list[Any]:
        only = ["arguments_encoded_twice"]
        return [row["first_rows"] for row in chat.audit(samples, only=only).to_pylist()]

    assert rows_of(ChatTemplate(CALLS)) == [[0, 2, 3]]
    assert rows_of(ChatTemplate(CALLS, decode_arguments=True)) == []
    assert rows_of(ChatTemplate(CALLS.replace(" | tojson", ""))) == []


def test_a_growing_conversation_has_the_other_names_of_roles_once() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' or loop.last %}<{{ m.role }}>{{ m.content }};"
        "{% endif %}{% endfor %}"
    )
    talk = [{"role": role, "content": "Hi."} for role in ("user", "assistant", "user", "assistant", "user")]
    swapped = [{**message, "role": {"user": "assistant"}.get(message["role"], "user")} for message in talk]
    roles = {"user": "assistant", "assistant": "user"}

    def rows_of(chat: ChatTemplate, conversation: list[dict[str, str]]) -> list[Any]:
        return (
            chat.audit([{"messages": conversation}], only=["changing_prefix"]).select(["message", "rows"]).to_pylist()
        )

    wanted = rows_of(ChatTemplate(source), talk)
    assert len(wanted) == 1
    assert rows_of(ChatTemplate(source, roles=roles), swapped) == wanted
