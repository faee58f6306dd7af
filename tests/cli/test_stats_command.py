"""The command `promptpress stats`: in a terminal, piped, in a locale without blocks, and for machines."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode

SAMPLES = pa.table({"q": [f"{'word ' * (n % 40)}{n % 90}" for n in range(300)], "a": ["中文"] * 300})
CONFIG: dict[str, Any] = {"prompt_template": "Q: {q}\nA: {a}", "reader": {"output_column": "a"}}
HOSTILE = "\x1b[2Jq\u202e\x07"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    pq.write_table(SAMPLES, "data.parquet")
    for suffix in ("parquet", "arrow", "jsonl"):
        assert run("render", "config.json", "--data", "data.parquet", "--out", f"out.{suffix}", "--quiet") == 0
    return tmp_path


def run(*arguments: str) -> int:
    return main(list(arguments))


def piped(arguments: Sequence[str], **environment: str) -> str:
    command = warm.command(*arguments)
    environment = {**os.environ, "COLUMNS": "", **environment}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"\x1b" not in done.stdout
    return done.stdout.decode("utf-8")


def in_terminal(arguments: Sequence[str], columns: int) -> str:
    """Return what is sent to a terminal of this many columns."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, columns.to_bytes(2, "little").rjust(4, b"\0") + b"\0" * 4)
    pieces: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            pieces.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    command = warm.command(*arguments)
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment |= {"LC_ALL": "C.UTF-8", "TERM": "xterm"}
    done = subprocess.run(command, env=environment, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    reader.join()
    os.close(terminal)
    assert done.returncode == 0, done.stderr
    return b"".join(pieces).decode("utf-8").replace("\r\n", "\n")


def widths(text: str) -> list[int]:
    return [len(line) for line in text.splitlines()]


ARGUMENTS = ["stats", "config.json", "--data", "data.parquet"]


@pytest.mark.usefixtures("folder")
def test_a_terminal_of_80_columns_and_a_wide_one() -> None:
    at_80, at_120 = (in_terminal(ARGUMENTS, columns) for columns in (80, 120))
    assert max(widths(at_80)) <= 80 < max(widths(at_120)) <= 120
    assert max(widths(in_terminal(ARGUMENTS, 40))) <= 80
    for page in (at_80, at_120):
        assert "█" in page
        assert "\x1b" not in page
        assert page.startswith("300 requests of 300 samples\n")


@pytest.mark.usefixtures("folder")
def test_piped_it_is_the_page_of_the_object() -> None:
    statistics = pp.stats(pp.Renderer(**CONFIG), SAMPLES)
    assert piped(ARGUMENTS, LC_ALL="C.UTF-8") == f"{statistics}\n"


@pytest.mark.usefixtures("folder")
def test_an_encoding_without_blocks_gets_plain_characters() -> None:
    page = piped(ARGUMENTS, LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="")
    assert page.isascii()
    assert "####" in page
    assert max(widths(page)) <= 80


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_a_file_of_prompts_has_the_lengths_of_its_configuration(suffix: str) -> None:
    of_configuration, of_file = (
        json.loads(piped([*arguments, "--json"])) for arguments in (ARGUMENTS, ["stats", f"out.{suffix}"])
    )
    for name in ("requests", "bytes", "characters", "repeated", "duplicates"):
        assert of_file[name] == of_configuration[name]
    assert of_configuration["requests"] == 300
    assert of_configuration["by_column"][0]["column"] == "q"
    assert of_file["by_origin"] is of_file["samples"] is None


@pytest.mark.usefixtures("folder")
def test_batches_threads_and_limits(capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for more in ([], ["--batch-size", "7"], ["--threads", "1"]):
        assert run(*ARGUMENTS, "--json", *more) == 0
        results.append(json.loads(capsys.readouterr().out))
    pp.set_threads(None)
    assert results[0] == results[1] == results[2]
    assert run(*ARGUMENTS, "--json", "--limit", "5") == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 5


@pytest.mark.usefixtures("folder")
def test_a_template_on_the_command_line_and_samples_of_another_form(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data.csv").write_text("q,a\n1,x\n22,y\n", encoding="utf-8")
    assert run("stats", "--template", "Q: {q}", "--data", "data.csv", "--json") == 0
    statistics = json.loads(capsys.readouterr().out)
    assert (statistics["requests"], statistics["bytes"]["sum"]) == (2, 9)


def test_hostile_names_never_reach_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps({"prompt_template": {HOSTILE: f"{{{HOSTILE}}}"}, "mode": "ppl"}))
    pq.write_table(pa.table({HOSTILE: ["x" * 1_000_000, HOSTILE]}), "d.parquet")
    arguments = ["stats", "c.json", "--data", "d.parquet"]
    for page in (in_terminal(arguments, 80), piped(arguments, LC_ALL="C.UTF-8"), piped([*arguments, "--json"])):
        assert not set(page) & set(HOSTILE) - set("[2Jq")
        assert "x1b[2Jq" in page or "u001b[2Jq" in page


@pytest.mark.usefixtures("folder")
def test_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tokenizers")
    from test_tokenizer import word_tokenizer

    word_tokenizer().save("tokenizer.json")
    assert run(*ARGUMENTS, "--tokenizer", "tokenizer.json", "--json") == 0
    statistics = json.loads(capsys.readouterr().out)
    prompts = pp.Renderer(**CONFIG).render(SAMPLES)["prompt"].to_pylist()
    assert statistics["tokens"]["sum"] == sum(len(prompt.split()) for prompt in prompts)
    assert run(*ARGUMENTS, "--tokenizer", "tokenizer.json") == 0
    assert "requests by length in tokens" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["config.json"], ExitCode.USAGE, "config.json: a configuration needs samples; --data FILE names them"),
        (
            ["out.parquet", "--model", "m.py"],
            ExitCode.USAGE,
            "out.parquet: holds prompts, so --model has nothing to add",
        ),
        (["out.parquet", "--mode", "gen"], ExitCode.USAGE, "so --mode has nothing to add"),
        (["data.parquet"], ExitCode.DATA, "has no column 'prompt'; it has 'q', 'a'; --column says which"),
        (
            ["out.parquet", "--column", "promt"],
            ExitCode.USAGE,
            "no such column; it has 'prompt'; did you mean 'prompt'?",
        ),
        (
            ["config.json", "--data", "data.parquet", "--column", "q"],
            ExitCode.USAGE,
            "--column: names the prompts of a rendered file",
        ),
        (
            ["out.parquet", "--data", "data.parquet"],
            ExitCode.USAGE,
            "out.parquet: a configuration is a .json",
        ),
        (["--template", "{q}"], ExitCode.USAGE, "--template: a configuration needs samples"),
        (["gone.parquet"], ExitCode.DATA, "gone.parquet"),
        (["out.parquet", "--tokenizer", "gone.json"], ExitCode.USAGE, "--tokenizer gone.json: no such file or folder"),
        (["out.parquet", "--tokenizer", "config.json"], ExitCode.USAGE, "--tokenizer config.json: no tokenizer"),
    ],
)
def test_errors_are_printed(
    arguments: list[str], code: ExitCode, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--tokenizer" in arguments:
        pytest.importorskip("tokenizers")
    assert run("stats", *arguments) == code
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_row_that_cannot_be_rendered_and_a_damaged_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.jsonl").write_text('{"q": "1", "a": "x"}\n{"q": \n')
    assert run("stats", "config.json", "--data", "bad.jsonl") == ExitCode.DATA
    assert "bad.jsonl:2: not valid JSON" in capsys.readouterr().err
    data = bytearray(Path("data.parquet").read_bytes())
    data[40:80] = b"\xff" * 40
    Path("bad.parquet").write_bytes(data)
    assert run("stats", "config.json", "--data", "bad.parquet") == ExitCode.DATA
    assert "bad.parquet" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_reader_that_is_gone(capfd: pytest.CaptureFixture[str]) -> None:
    command = [*warm.PROCESS, *ARGUMENTS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == ExitCode.READER_GONE
    assert not errors
    assert capfd.readouterr().out == ""
