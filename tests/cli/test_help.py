"""The help: each option is in one group, the short help fits a screen, and its examples work."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main
from promptpress_workbench.cli.arguments import make_parser, parse
from promptpress_workbench.cli.commands import COMMANDS
from promptpress_workbench.cli.options import GROUPS, OPERANDS, OPTIONS, STAGES, option_name

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def help_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def text(*words: str, columns: int = 100) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as ended:
            main([*words])
        assert ended.value.code == 0
        return capsys.readouterr().out

    return text


def test_each_option_is_in_one_group_of_one_stage() -> None:
    assert [
        name for name, count in Counter(name for group in GROUPS.values() for name in group).items() if count > 1
    ] == []
    assert STAGES == ("samples", "template", "messages", "chat template", "tokens and masks", "output")
    assert {name for command in COMMANDS.values() for name in command.options} == {*OPTIONS, *OPERANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_of_a_command_is_in_one_group(name: str) -> None:
    command = COMMANDS[name]
    grouped = [option for _, options in command.groups() for option in options]
    assert len({*grouped, *command.operands}) == len(grouped) + len(command.operands)
    assert {*grouped, *command.operands} == {*command.options}
    assert {*command.main} <= {*grouped}
    assert {*command.changed} <= {*command.options}


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_fits_a_screen(name: str, columns: int, help_text: Callable[..., str]) -> None:
    command = COMMANDS[name]
    text = help_text(name, "--help", columns=columns)
    assert len(text.splitlines()) <= 30
    assert all(f"\n  {option_name(option)}" in text for option in command.main)
    assert f"\n  {command.example}\n" in text
    whole = help_text(name, "--help-all", columns=columns)
    assert all(f"\n  {option_name(option)}" in whole for _, options in command.groups() for option in options)
    assert all(f"\n{title}:\n" in whole for title, _ in command.groups())


def test_the_help_of_the_program(help_text: Callable[..., str]) -> None:
    text = help_text("--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert text.count("\n  promptpress ") == 3
    assert len(text.splitlines()) <= 40


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("view", "verify", "join", "completion")])
def test_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text("question,answer\n1+1=?,2\n2+2=?,4\n3+3=?,6\n", encoding="utf-8")
    Path("chat_template.jinja").write_text("{{ tools }}{{ messages }}", encoding="utf-8")
    if name == "tokenize":
        small_tokenizer().save("tokenizer.json")
    words = shlex.split(COMMANDS[name].example)
    assert main(words[1:]) == (1 if name == "diff" else 0), capfd.readouterr().err


def test_the_example_of_join_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text("question\n1+1=?\n", encoding="utf-8")
    message = {"choices": [{"message": {"role": "assistant", "content": "2"}}]}
    result = {"custom_id": "0", "response": {"status_code": 200, "body": message}, "error": None}
    Path("results.jsonl").write_text(json.dumps(result), encoding="utf-8")
    assert main(shlex.split(COMMANDS["join"].example)[1:]) == 0
    assert json.loads(Path("answers.jsonl").read_text(encoding="utf-8"))["question"] == "1+1=?"


@pytest.mark.parametrize("name", ["view", "verify"])
def test_examples_parse(name: str) -> None:
    parse(shlex.split(COMMANDS[name].example)[1:])


@pytest.mark.parametrize("shell", SHELLS)
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("tokenize", "--model-b", "single_pass", "assistant+end"))
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_completion_without_its_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'promptpress[cli]'" in capsys.readouterr().err


def test_a_run_makes_the_options_of_its_command_alone() -> None:
    commands = next(
        action.choices for action in make_parser(["show"])._actions if isinstance(action, argparse._SubParsersAction)
    )
    counts = {name: len(parser._actions) for name, parser in commands.items()}
    assert counts.pop("show") > 40
    assert set(counts.values()) == {0}


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["render", "--num-fewshot", "2"], "--shots"),
        (["render", "--system-instruction", "x"], "--system"),
        (["show", "--prompt-column", "x"], "--column"),
        (["export", "ray", "--sampling-params", "{}"], "--params"),
    ],
)
def test_words_of_others_lead_to_the_option(words: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert f"did you mean {option}?" in capsys.readouterr().err
