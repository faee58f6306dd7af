"""A template on the command line in the place of a configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from promptpress_workbench.cli import main

MODEL = {
    "meta_template": {
        "round": [{"role": "HUMAN", "begin": "<u>", "end": "\n"}, {"role": "BOT", "begin": "<b>", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "begin": "<s>", "end": "\n"}],
    }
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.csv").write_text("question,answer\n1+1?,2\n2+2?,4\n")
    (tmp_path / "train.csv").write_text('question,answer\n3+3?,006\n"a, b?",7\n9?,9\n')
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    (tmp_path / "config.json").write_text(json.dumps({"prompt_template": "{question}"}))
    return tmp_path


def render(*arguments: str) -> int:
    return main(["render", "--data", "test.csv", "--out", "out.jsonl", "--quiet", *arguments])


def prompts() -> list[Any]:
    return [json.loads(line)["prompt"] for line in Path("out.jsonl").read_text().splitlines()]


def test_a_text() -> None:
    assert render("--template", "Q: {question}\nA:") == 0
    assert prompts() == ["Q: 1+1?\nA:", "Q: 2+2?\nA:"]


def test_the_answers_are_left_out() -> None:
    assert render("--template", "Q: {question}\nA: {answer}", "--answer", "answer") == 0
    assert prompts() == ["Q: 1+1?\nA: ", "Q: 2+2?\nA: "]


def test_examples() -> None:
    options = ["--answer", "answer", "--shots", "2", "--examples", "train.csv"]
    assert render("--template", "Q: {question} A: {answer}", *options) == 0
    assert prompts()[1] == "Q: 3+3? A: 006\nQ: a, b? A: 7\nQ: 2+2? A: "


def test_examples_of_a_format_that_their_name_does_not_say(folder: Path) -> None:
    (folder / "train.txt").write_bytes((folder / "train.csv").read_bytes())
    (folder / "train.jsonl").write_text('{"question": "3+3?", "answer": "006"}\n')
    for name in ("train.txt", "train.jsonl"):
        options = ["--answer", "answer", "--shots", "1", "--examples", name, "--data-format", "csv"]
        assert render("--template", "Q: {question} A: {answer}", *options) == 0
        assert prompts()[1] == "Q: 3+3? A: 006\nQ: 2+2? A: "


def test_standard_input_is_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--answer", "answer", "--shots", "1", "--examples", "-", "--data-format", "jsonl"]
    assert main(["render", "--data", "-", "--out", "o.csv", "--template", "{question}{answer}", *options]) == 2
    assert "standard input is named twice, by --data and --examples" in capsys.readouterr().err


def test_more_examples_than_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--answer", "answer", "--shots", "5", "--examples", "train.csv"]
    assert render("--template", "Q: {question} A: {answer}", *options) == 3
    assert "--shots 5: --examples has 3 rows" in capsys.readouterr().err


def test_what_the_system_says() -> None:
    assert render("--template", "{question}", "--system", "Be {answer}.") == 0
    system, human = prompts()[0]
    assert (system, human) == ({"role": "system", "content": "Be 2."}, {"role": "user", "content": "1+1?"})
    options = ["--system", "S", "--answer", "answer", "--shots", "1", "--examples", "train.csv"]
    assert render("--template", "{question}", *options) == 0
    messages = [{"role": "user", "content": "3+3?"}, {"role": "assistant", "content": "006"}]
    assert prompts()[0] == [{"role": "system", "content": "S"}, *messages, {"role": "user", "content": "1+1?"}]
    shots = [{"role": "HUMAN", "prompt": "3+3?"}, {"role": "BOT", "prompt": "006"}]
    assert render("--template", "{question}", "--output", "messages", *options[2:]) == 0
    assert prompts()[0] == [*shots, {"role": "HUMAN", "prompt": "1+1?"}]


def test_texts_of_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q.txt").write_bytes(b"Q: {question}\nA:\r\n")
    (folder / "s.txt").write_text("Be brief\n\n", encoding="utf-8")
    assert render("--template", "@q.txt", "--system", "@s.txt") == 0
    assert prompts()[0] == [
        {"role": "system", "content": "Be brief\n"},
        {"role": "user", "content": "Q: 1+1?\nA:"},
    ]
    assert render("--template", "@@{question}") == 0
    assert prompts()[0] == "@1+1?"
    (folder / "q.jinja").write_text("{{ greeting }} {{ question }}{{ n + 1 }}\n", encoding="utf-8")
    assert render("--jinja", "@q.jinja", "--constant", "greeting=Hello", "n=1") == 0
    assert prompts()[0] == "Hello 1+1?2"
    capsys.readouterr()
    (folder / "empty.txt").write_text("\n", encoding="utf-8")
    for arguments, words in (
        (["--template", "@nowhere.txt"], "begins with @ is written with @@"),
        (["--template", "@empty.txt"], "--template: it is empty"),
        (["--template", "{question", "--system", "S"], "--template: '{question' stays"),
        (["--template", "{question}", "--system", "{questoin}"], "--system: '{questoin}' names no column"),
        (["--template", "Q: {{ question }}"], "--jinja"),
        (["--template", "{question}", "--constant", "a=1"], "--constant: goes with --jinja"),
        (["--jinja", "{{ q }}", "--constant", "self=1"], "--constant"),
    ):
        assert render(*arguments) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("template", ["{questoin} {question}", "", "{question"])
def test_who_looks_sees_a_mistake(template: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["show", "--template", template],
        ["stats", "--template", template],
        ["audit", "--template", template],
        ["diff", "--template", "Q: {question}", "--template-b", template],
        ["view", "--template", template, "--html", "page.html"],
    ):
        assert main([*command, "--data", "test.csv"]) in (0, 1), capsys.readouterr().err
        assert "error:" not in capsys.readouterr().err


def test_a_model() -> None:
    assert render("--template", "{question}", "--model", "model.json") == 0
    assert prompts()[0] == "<u>1+1?\n<b>"
    assert render("--template", "{question}", "--model", "model.json", "--system", "S") == 0
    assert prompts()[0] == "<s>S\n<u>1+1?\n<b>"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["config.json", "--template", "x"], "--template with config.json"),
        ([], "neither CONFIG nor --template"),
        (["config.json", "--system", "x"], "--system goes with --template"),
        (["config.json", "--shots", "1"], "--shots goes with --template"),
        (["config.json", "--answer", "answer"], "--answer goes with --template"),
        (["--template", "{question}", "--examples", "train.csv"], "--examples: --shots N says how many"),
        (
            ["--template", "{question}", "--shots", "1"],
            "--shots: examples show answers; --answer COL names their column",
        ),
        (
            ["--template", "{question}", "--shots", "1", "--answer", "answer"],
            "--template: the answer of an example needs a place in the template, by {answer}",
        ),
        (
            ["--template", "{answer}", "--shots", "1", "--answer", "answer", "--system", "S"],
            "--template: {answer} is what the assistant says in a chat",
        ),
        (["--template", "{question}", "--dataset", "x"], "--dataset x: --template holds no datasets"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["render", *arguments, "--data", "test.csv", "--out", "out.jsonl"]) == 2
    assert words in capsys.readouterr().err
    assert not Path("out.jsonl").exists()


def test_examples_that_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert render("--template", "{question}{answer}", "--answer", "answer", "--shots", "1") == 3
    assert "--examples FILE gives the rows" in capsys.readouterr().err
    options = ["--answer", "answer", "--shots", "4", "--examples", "train.csv"]
    assert render("--template", "{question}{answer}", *options) == 3


def test_a_line_break_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["render", "--data", "test.csv", "--out", "out.jsonl", "--template", r"{question}\n"]
    assert main(command) == 0
    assert prompts()[0] == r"1+1?\n"
    assert capsys.readouterr().err.count(r"\n is a backslash and an n") == 1
    assert main([*command, "--strict"]) == 3


def test_verify_needs_a_harness_s_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q.json").write_text('{"prompt_template": "{question}"}', encoding="utf-8")
    assert main(["verify", "q.json", "--data", "test.csv"]) == 3
    assert "q.json: verify needs a harness's dataset configuration" in capsys.readouterr().err


def test_one_answer_is_the_template_s_and_the_export_s(folder: Path) -> None:
    options = ["--answer", "answer", "--shots", "1", "--examples", "train.csv", "--data", "test.csv", "--quiet"]
    command = ["export", "messages-json", "--template", "{question}", "--out", "sft.jsonl", "--output", "openai"]
    assert main([*command, *options]) == 0
    first = json.loads((folder / "sft.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert [message["role"] for message in first["messages"]] == ["user", "assistant", "user", "assistant"]


def test_a_batch_file_with_examples(folder: Path) -> None:
    options = ["--answer", "answer", "--shots", "2", "--examples", "train.csv", "--model-name", "m", "--quiet"]
    command = ["export", "openai-batch", "--template", "{question}", "--data", "test.csv", "--out", "batch.jsonl"]
    assert main([*command, *options]) == 0
    body = json.loads((folder / "batch.jsonl").read_text().splitlines()[1])["body"]
    assert [message["content"] for message in body["messages"]] == ["3+3?", "006", "a, b?", "7", "2+2?"]
    assert [message["role"] for message in body["messages"]] == [*(["user", "assistant"] * 2), "user"]


@pytest.mark.parametrize("text", ["{system}", " {x}\n"])
def test_a_text_that_is_a_name_alone_means_a_column(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in each request, which costs money: exports refuse it, and rendering has a note."""
    assert render("--template", "{question}", "--system", text, "--output", "messages") == 0
    assert prompts()[0][0]["prompt"] == text
    export = ["export", "openai-batch", "--template", "{question}", "--data", "test.csv", "--model-name", "m"]
    assert main([*export, "--system", text, "--out", "b.jsonl"]) == 2
    assert f"'{text.strip()}' names no column" in capsys.readouterr().err
    assert not Path("b.jsonl").exists()
    assert main([*export, "--system", text, "--out", "b.jsonl", "--unknown", "keep"]) == 0
    assert main([*export, "--system", f"By {text}", "--out", "b.jsonl"]) == 0
