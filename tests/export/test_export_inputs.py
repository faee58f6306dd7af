"""Inputs of `promptpress export` other than a configuration: templates, rendered files and conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress._cli import main

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
    assert "the server applies its own chat template" in capsys.readouterr().err
    assert not Path("o.jsonl").exists()


@pytest.mark.parametrize("form", ["text", "openai"])
def test_a_rendered_file_gives_what_its_configuration_gives(form: str) -> None:
    arguments = ["--template", "Q: {q}", "--output", form, "--data", "test.parquet"]
    expected = bodies(*arguments)
    assert main(["render", *arguments, "--out", "prompts.parquet", "--quiet"]) == 0
    assert bodies("prompts.parquet") == expected


def test_conversations() -> None:
    assert bodies("talks.parquet", "--prompt-column", "talk") == [TALK] * 2
    plain = [{"role": "user", "content": " Hi. "}, {"role": "assistant", "content": "Yes?"}]
    assert bodies("sharegpt.jsonl", "--prompt-column", "talk") == [plain] * 2
    assert lines("sharegpt", "talks.parquet", "--prompt-column", "talk") == [{"conversations": SHAREGPT}] * 2
    kept = lines("messages-json", "sharegpt.jsonl", "--prompt-column", "talk", "--keep", "id")
    assert kept == [{"messages": plain, "id": "a"}, {"messages": plain, "id": "b"}]


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["--model-name", "m", "--out", "o.jsonl"]
    cases = {
        ("talks.parquet",): "has no column 'prompt'; it has 'talk'; --prompt-column says which has the prompts",
        ("talks.parquet", "--prompt-column", "tlak"): "did you mean 'talk'?",
        ("talks.parquet", "--data", "test.parquet"): "holds prompts, so --data has nothing to add",
        ("--template", "{q}"): "--data FILE names them",
        (): "one of them says what a prompt is",
        ("--jinja", "{{ q }}", "--output", "text", "--data", "test.parquet"): "--output",
    }
    for arguments, message in cases.items():
        assert main(["export", "openai-batch", *arguments, *base]) in {2, 4}, arguments
        assert message in capsys.readouterr().err, arguments
        assert not Path("o.jsonl").exists()
