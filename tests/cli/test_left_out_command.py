"""What a chat template leaves out, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main

KEEPS_PLAIN = (
    "{% for m in messages %}{% if m.role == 'user' or not m.tool_calls %}<{{ m.role }}>{{ m.content }}</s>"
    "{% endif %}{% endfor %}"
)
CALL = {"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}

ANSWER = {"role": "assistant", "content": "a"}
ROWS = [{"messages": [{"role": "user", "content": f"q{row}"}, dict(ANSWER)]} for row in range(9)]
ROWS[7]["messages"][1]["tool_calls"] = [CALL]  # type: ignore[assignment]  # a call next to texts
SOURCE = ("chats.jsonl", "--chat-template", "template.jinja")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    Path("template.jinja").write_text(KEEPS_PLAIN, encoding="utf-8")
    small_tokenizer("bytes").save("tokenizer.json")


def export(form: str, *options: str) -> int:
    return main(["export", form, *SOURCE, "--tokenizer", "tokenizer.json", "--out", "out.jsonl", *options])


@pytest.mark.parametrize("form", ["trl-tokens", "axolotl-tokens"])
def test_no_export_for_trainers_leaves_out_an_assistant_in_silence(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(form, "--mask", "assistant") == 4
    assert "row 7" in (error := capsys.readouterr().err)
    assert "leaves out a message: last turn, role 'assistant', which so isn't trained" in error
    assert not Path("out.jsonl").exists()
    assert export(form, "--mask", "assistant", "--errors", "skip") == 0
    assert len(Path("out.jsonl").read_text(encoding="utf-8").splitlines()) == 8
    Path("template.jinja").write_text(KEEPS_PLAIN.replace("not m.tool_calls", "not loop.last"), encoding="utf-8")
    assert export(form, "--mask", "assistant", "--allow", "tool_call_left_out") == 4
    assert export(form, "--mask", "assistant", "--allow", "tool_call_left_out,message_left_out") == 0
    assert export(form, "--mask", "assistant", "--allow", "tool_calls_left_out") == 2


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_rows_that_are_left_out_lack_nothing(size: int, capsys: pytest.CaptureFixture[str]) -> None:
    system = {"role": "system", "content": "S"}
    rows = [{"messages": [system, *row["messages"]] if row is not ROWS[0] else row["messages"]} for row in ROWS * 4]
    Path("chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("template.jinja").write_text(
        KEEPS_PLAIN.replace("in messages", "in messages if m.role != 'system'"), encoding="utf-8"
    )
    assert export("trl-tokens", "--mask", "assistant", "--errors", "skip", "--batch-size", str(size)) == 0
    assert "warning: in 28 of 36 conversations the template leaves out a message" in capsys.readouterr().err


def test_other_exports_warn(capsys: pytest.CaptureFixture[str]) -> None:
    assert export("vllm-tokens") == 0
    assert "warning: in 1 of 9 conversations the template leaves out a message: last turn" in capsys.readouterr().err
    assert export("vllm-tokens", "--strict") == 3


def test_rows_that_lack_something_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["render", *SOURCE, "--refuse-left-out", "message_left_out", "--out", "o.jsonl", "--index", "row"]
    assert main(command) == 4
    assert "which refuse= names" not in (error := capsys.readouterr().err)
    assert "which --refuse-left-out names" in error
    assert main([*command, "--errors", "column"]) == 0
    rows = [json.loads(line) for line in Path("o.jsonl").read_text(encoding="utf-8").splitlines()]
    bad = [row["row"] for row in rows if row["error"]]
    assert bad == [7]
    assert all("left_out: " in rows[row]["error"] for row in bad)
    assert "conversations the template leaves out a message" not in capsys.readouterr().err


def test_show_says_it_with_the_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *SOURCE, "--row", "7"]) == 0
    printed = capsys.readouterr()
    assert "not in the prompt: a tool call: last turn, role 'assistant'\n" in printed.out
    assert "warning" not in printed.err


def test_messages_without_their_tools(capsys: pytest.CaptureFixture[str]) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    Path("chats.jsonl").write_text(json.dumps({**ROWS[0], "tools": tools}) + "\n", encoding="utf-8")
    command = ["export", "messages-json", "--data", "chats.jsonl", "--out", "o.jsonl"]
    assert main(command) == 0
    assert "--keep tools writes it" in capsys.readouterr().err
    assert main([*command, "--keep", "tools"]) == 0
    assert "--keep tools" not in capsys.readouterr().err
    assert json.loads(Path("o.jsonl").read_text(encoding="utf-8"))["tools"] == tools
