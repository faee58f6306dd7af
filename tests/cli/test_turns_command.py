"""Rows for each turn of an assistant, and prompts with completions, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main

pytest.importorskip("jinja2")

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if loop.last and m.reasoning %}<think>{{ m.reasoning }}</think>{% endif %}{{ m.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TALK = [
    {"role": "user", "content": "1+1?"},
    {"role": "assistant", "content": "2.", "reasoning": "Hm."},
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "4."},
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("chat.jinja").write_text(TEMPLATE)
    small_tokenizer().save("tokenizer.json")
    talks = [{"id": 5, "messages": TALK}, {"id": 6, "messages": TALK[:2]}]
    Path("talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in talks))
    Path("pairs.jsonl").write_text(json.dumps({"prompt": "1+1?", "completion": "2."}) + "\n")
    return tmp_path


def lines(*arguments: str) -> list[dict[str, Any]]:
    assert main([*arguments, "--out", "out.jsonl", "--quiet"]) == 0
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


CHAT = ("--chat-template", "chat.jinja", "--data", "talks.jsonl", "--turns", "each", "--keep", "id")
IDS = ("--tokenizer", "tokenizer.json", "--mask", "assistant+end")
TURNS = [(0, 5, 0), (0, 5, 1), (1, 6, 0)]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "command",
    [
        ("render", *CHAT),
        ("tokenize", *CHAT, *IDS),
        ("export", "trl-tokens", *CHAT, *IDS),
        ("export", "axolotl-tokens", *CHAT, *IDS),
        ("export", "messages-json", *CHAT[2:]),
    ],
)
def test_each_turn_has_a_row(command: tuple[str, ...]) -> None:
    assert [(row["sample"], row["id"], row["turn"]) for row in lines(*command)] == TURNS


@pytest.mark.usefixtures("files")
def test_what_rows_hold() -> None:
    (first, second, _) = lines("render", *CHAT)
    assert first["prompt"].endswith("<think>Hm.</think>2.<|im_end|>\n")
    assert "<think>" not in second["prompt"]
    chosen = lines("render", *CHAT, "--where", "id = 6")
    assert [(row["sample"], row["turn"]) for row in chosen] == [(1, 0)]
    exported = lines("export", "messages-json", *CHAT[2:])
    assert [row["messages"] for row in exported] == [TALK[:2], TALK, TALK[:2]]
    rows = [row["labels"] for row in lines("export", "trl-tokens", *CHAT, *IDS)]
    trained = [small_tokenizer().decode([label for label in labels if label >= 0]) for labels in rows]
    assert trained == ["2.", "4.", "2."]


@pytest.mark.usefixtures("files")
def test_completions_are_trained() -> None:
    pairs = ("--chat-template", "chat.jinja", "--data", "pairs.jsonl")
    (row,) = lines("export", "axolotl-tokens", *pairs, *IDS)
    assert small_tokenizer().decode([label for label in row["labels"] if label >= 0]) == "2."
    # Prompts for a model have no completion.
    (row,) = lines("render", *pairs)
    assert "2." not in row["prompt"]


@pytest.mark.usefixtures("files")
def test_what_has_no_turns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--template", "{id}", "--data", "talks.jsonl", "--turns", "each", "--out", "-"]) == 3
    assert "turns are those of a column of conversations" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_conversations_without_a_turn_have_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("talks.jsonl").write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in (TALK[:1], TALK[:2])))
    given = ["export", "messages-json", "--data", "talks.jsonl", "--turns", "each", "--out", "out.jsonl"]
    assert main(given) == 0
    assert [json.loads(line)["sample"] for line in Path("out.jsonl").read_text().splitlines()] == [1]
    assert "1 conversation without a turn of an assistant, and without a line; first row 0" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_the_error_names_what_takes_token_ids(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "trl-tokens", *CHAT[:4], *IDS, "--out", "ids.parquet", "--quiet"]) == 0
    assert main(["audit", "ids.parquet"]) == 4
    assert "it holds token ids, which show, view, stats and diff take" in capsys.readouterr().err
    Path("pairs.jsonl").write_text('{"chosen_ids": [5], "rejected_ids": [6], "id": 1}\n', encoding="utf-8")
    assert main(["show", "pairs.jsonl", *IDS]) == 4
    assert "stats and diff take by --column chosen_ids --tokenizer FILE" in capsys.readouterr().err
    assert main(["show", "pairs.jsonl", *IDS, "--column", "chosen_ids"]) == 0
    assert "1 token" in capsys.readouterr().out
