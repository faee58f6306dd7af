"""Inputs of `promptpress export` other than a configuration: templates, rendered files and conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main

TALK = [{"role": "user", "content": " Hi. "}, {"role": "assistant", "content": "Yes?"}]
SHAREGPT = [{"from": "human", "value": " Hi. "}, {"from": "gpt", "value": "Yes?"}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"q": ["1+1?", "a {q}"], "id": ["x", "y"]}), "test.parquet")
    pq.write_table(pa.table({"talk": [TALK] * 2}), "talks.parquet")
    lines = "".join(json.dumps({"talk": SHAREGPT, "id": name}) + "\n" for name in "ab")
    Path("sharegpt.jsonl").write_text(lines, encoding="utf-8")
    Path("chat.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", encoding="utf-8")


def lines(*arguments: str) -> list[dict[str, Any]]:
    assert main(["export", *arguments, "--out", "out.jsonl", "--quiet"]) == 0
    return [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]


def bodies(*arguments: str) -> list[Any]:
    requests = lines("openai-batch", *arguments, "--model-name", "m")
    return [request["body"].get("messages", request["body"].get("prompt")) for request in requests]


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_a_jinja_template() -> None:
    assert bodies("--jinja", "Q: {{ q }}", "--data", "test.parquet") == [user("Q: 1+1?"), user("Q: a {q}")]
    texts = bodies("--jinja", "Q: {{ q }}", "--data", "test.parquet", "--url", "/v1/completions")
    assert texts == ["Q: 1+1?", "Q: a {q}"]
    named = lines(
        "openai-batch", "--jinja", "{{ q }}", "--data", "test.parquet", "--model-name", "m", "--custom-id", "{id}"
    )
    assert [request["custom_id"] for request in named] == ["x", "y"]


def test_a_chat_template_makes_texts(capsys: pytest.CaptureFixture[str]) -> None:
    chat = ["--chat-template", "chat.jinja", "--column", "talk", "--data", "talks.parquet"]
    assert bodies(*chat, "--url", "/v1/completions") == ["<user> Hi. <assistant>Yes?"] * 2
    assert main(["export", "openai-batch", *chat, "--model-name", "m", "--out", "o.jsonl"]) == 2
    assert "applies the chat template itself" in capsys.readouterr().err
    assert not Path("o.jsonl").exists()


@pytest.mark.parametrize("form", ["text", "openai"])
def test_a_rendered_file_gives_what_its_configuration_gives(form: str) -> None:
    arguments = ["--template", "Q: {q}", "--output", form, "--data", "test.parquet"]
    expected = bodies(*arguments)
    assert main(["render", *arguments, "--out", "prompts.parquet", "--quiet"]) == 0
    assert bodies("prompts.parquet") == expected


def test_conversations() -> None:
    assert bodies("talks.parquet", "--column", "talk") == [TALK] * 2
    plain = [{"role": "user", "content": " Hi. "}, {"role": "assistant", "content": "Yes?"}]
    assert bodies("sharegpt.jsonl", "--column", "talk") == [plain] * 2
    assert lines("sharegpt", "talks.parquet", "--column", "talk") == [{"conversations": SHAREGPT}] * 2
    kept = lines("messages-json", "sharegpt.jsonl", "--column", "talk", "--keep", "id")
    assert kept == [{"messages": plain, "id": "a"}, {"messages": plain, "id": "b"}]


def test_the_tools_of_conversations() -> None:
    tools = [{"name": "f", "parameters": {"a": 1}}]
    rows = [{"talk": TALK, "tools": tools, "t": [tools[0]]}, {"talk": TALK, "tools": json.dumps(tools)}, {"talk": TALK}]
    Path("tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    source = ("openai-batch", "--data", "tools.jsonl", "--column", "talk", "--model-name", "m")
    sent = [request["body"].get("tools") for request in lines(*source)]
    assert sent == [tools, tools, None]
    assert [request["body"].get("tools") for request in lines(*source, "--argument-column", "tools=t")][1:] == [
        None
    ] * 2
    assert [request["body"].get("tools") for request in lines(*source, "--argument-column", "none")] == [None] * 3
    given = (*source, "--params", '{"tools": [1]}')
    assert [request["body"]["tools"] for request in lines(*given, "--argument-column", "none")] == [[1]] * 3
    assert main(["export", *given, "--out", "out.jsonl", "--quiet"]) == 2
    Path("tool.jinja").write_text("{{ messages[0].content }}{{ tools | tojson }}", encoding="utf-8")
    chat = ("--chat-template", "tool.jinja", "--url", "/v1/completions")
    texts = [request["body"]["prompt"] for request in lines(*source, *chat)]
    assert texts == [f" Hi. {json.dumps(tools)}", f" Hi. {json.dumps(tools)}", " Hi. null"]


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["--model-name", "m", "--out", "o.jsonl"]
    cases = {
        ("talks.parquet",): "has no column 'prompt'; it has 'talk'; --column says which has the prompts",
        ("talks.parquet", "--column", "tlak"): "did you mean 'talk'?",
        ("talks.parquet", "--data", "test.parquet"): "samples come with --data, and a file of prompts without",
        ("--template", "{q}"): "--data FILE names them",
        (): "one of them says what a prompt is",
        ("--jinja", "{{ q }}", "--output", "text", "--data", "test.parquet"): "--output",
    }
    for arguments, message in cases.items():
        assert main(["export", "openai-batch", *arguments, *base]) in {2, 4}, arguments
        assert message in capsys.readouterr().err, arguments
        assert not Path("o.jsonl").exists()


BAD = ("--chat-template", "chat.jinja", "--column", "talk", "--data", "bad.jsonl")


def test_rows_that_cannot_be_rendered(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.dumps([TALK[0]]), "oops", json.dumps(TALK), "[]"]
    Path("bad.jsonl").write_text("".join(json.dumps({"talk": row}) + "\n" for row in rows), encoding="utf-8")
    command = ["export", "openai-batch", *BAD, "--url", "/v1/completions", "--model-name", "m", "--out", "out.jsonl"]
    for given in ([], ["--order", "prefix"], ["--where", "talk = 'oops'"]):
        assert main([*command, *given]) == 4
        error = capsys.readouterr().err
        assert error.startswith('promptpress: error: row 1, column "talk": ')
        assert error.endswith("; --errors skip leaves such rows out\n")
        assert not Path("out.jsonl").exists()
    assert main([*command, "--errors", "skip"]) == 0
    assert "2 of 4 rows can't be rendered, and are left out: row 1: " in capsys.readouterr().err
    written = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["custom_id"] for line in written] == ["0", "2"]
    assert main([*command, "--errors", "skip", "--strict"]) == 7
    tables = ["render", *BAD, "--out", "out.parquet"]
    assert main(tables) == 4
    assert "--errors skip leaves such rows out" in capsys.readouterr().err


def test_bad_conversations_of_a_file_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    good = {"role": "user", "content": "Hi."}
    bad = [
        None,
        [],
        [good, {"role": "user", "content": 5}],
        [{"content": "x"}],
        [{"from": "gpt"}, "x"],
        [good, {"role": "assistant", "content": None}],
        {"a": 1},
    ]
    talks = [[good], *bad, [{"from": "human", "value": "Ho."}], [good, {"role": "assistant", "content": "Ha."}]]
    Path("bad.jsonl").write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks))
    command = ["export", "openai-batch", "bad.jsonl", "--model-name", "m", "--out", "out.jsonl"]
    assert main(command) == 4
    assert main([*command, "--errors", "skip"]) == 0
    error = capsys.readouterr().err
    assert f"{len(bad)} of {len(talks)} rows can't be rendered, and are left out: row 1: null_value" in error
    written = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["custom_id"] for line in written] == ["0", "8", "9"]


def test_samples_keep_their_numbers_if_rows_are_left_out() -> None:
    """Only rows of one message would be their own numbers."""
    pq.write_table(pa.table({"n": [0, 1, 2]}), "numbers.parquet")
    written = lines(
        "openai-batch", "--jinja", "{{ 6 // n }}", "--data", "numbers.parquet", "--model-name", "m", "--errors", "skip"
    )
    assert [(line["custom_id"], line["body"]["messages"][0]["content"]) for line in written] == [("1", "6"), ("2", "3")]
