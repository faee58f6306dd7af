"""The command where standard output or standard error is closed, and what it writes to a terminal beside prompts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts.pseudo_terminal import in_terminal
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode

COMMAND = f"{sys.executable} -m promptpress"
HOSTILE = "a\x1b]0;title\x07\x9b2J\u202e\u3164"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"q": ["1+1=?", "2+2=?"]}), "d.parquet")
    for name, template in (("a.json", "Q: {q}"), ("b.json", "Q {q}")):
        Path(name).write_text(json.dumps({"prompt_template": template}))


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(f"{COMMAND} {line}", shell=True, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell that closes streams")
@pytest.mark.parametrize("command", ["show a.json", "stats a.json", "diff a.json b.json", "render a.json --out -"])
def test_standard_output_is_closed(command: str) -> None:
    done = shell(f"{command} --data d.parquet --quiet >&-")
    assert done.returncode == ExitCode.OUTPUT
    assert done.stderr == "promptpress: error: standard output: it is closed\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell that closes streams")
@pytest.mark.parametrize("command", ["show a.json", "render a.json --out -"])
def test_standard_input_is_closed(command: str) -> None:
    assert shell(f"{command} --data d.parquet --quiet <&-").returncode == 0
    done = shell(f"{command} --data - --data-format jsonl --quiet <&-")
    assert done.returncode == ExitCode.DATA
    assert done.stderr.startswith("promptpress: error: standard input is closed; samples are piped into it")


OUTPUTS = (
    "render a.json --no-clobber --out",
    "render a.json --out-format parquet --out",
    "render a.json --out-format csv --out",
    "export openai-batch a.json --model-name m --no-clobber --out",
    "export openai-batch a.json --model-name m --max-requests 1 --out",
    "export alpaca a.json --answer q --out",
    "audit a.json --out",
    "audit a.json --out-format json --out",
    "view a.json --no-clobber --html",
)


@pytest.mark.skipif(sys.platform == "win32", reason="a device")
@pytest.mark.parametrize("command", OUTPUTS)
def test_the_null_device_takes_every_output(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("nowhere").symlink_to(os.devnull)
    for path in (os.devnull, "nowhere"):
        assert main([*command.split(), path, "--data", "d.parquet"]) == 0
        assert capfd.readouterr().out == ""
        assert Path(os.devnull).is_char_device()
    assert Path("nowhere").is_symlink()
    assert sorted(path.name for path in Path().iterdir()) == ["a.json", "b.json", "d.parquet", "nowhere"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("command", OUTPUTS)
def test_a_named_pipe_takes_every_output(command: str) -> None:
    os.mkfifo("pipe")
    with ThreadPoolExecutor() as pool:
        read = pool.submit(Path("pipe").read_bytes)
        assert main([*command.split(), "pipe", "--data", "d.parquet"]) == 0
        assert read.result(timeout=20) or command == "audit a.json --out"  # without findings
    assert Path("pipe").is_fifo()
    assert sorted(path.name for path in Path().iterdir()) == ["a.json", "b.json", "d.parquet", "pipe"]


def test_the_null_device_keeps_nothing_to_go_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "a.json", "--data", "d.parquet", "--out", os.devnull, "--resume"]) == ExitCode.USAGE
    assert f"--resume: {os.devnull} can't be gone on with" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="a shell that closes streams")
def test_standard_error_is_closed() -> None:
    done = shell("show nothing.json --data d.parquet 2>&-")
    assert (done.returncode, done.stdout) == (ExitCode.CONFIGURATION, "")
    done = shell("render a.json --data d.parquet --out - 2>&-")
    assert (done.returncode, done.stdout.count("\n")) == (0, 2)  # the summary is no prompt


@pytest.mark.parametrize("traceback", [[], ["--traceback"]])
def test_an_error_never_steers_the_terminal(capsys: pytest.CaptureFixture[str], traceback: list[str]) -> None:
    assert main(["show", f"{HOSTILE}.json", "--data", "d.parquet", *traceback]) == ExitCode.CONFIGURATION
    error = capsys.readouterr().err
    assert r"a\x1b]0;title\x07\x9b2J\u202e\u3164.json" in error
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u3164]", error)
    assert ("Traceback" in error) == bool(traceback)


def test_the_first_prompt_never_steers_the_terminal() -> None:
    pq.write_table(pa.table({"q": [f"{HOSTILE}\n\ttext"]}), "d.parquet")
    arguments = ["render", "a.json", "--data", "d.parquet", "--out", "out.jsonl", "--quiet", "--print-first"]
    screen = in_terminal([sys.executable, "-m", "promptpress", *arguments])
    assert screen.split("\n")[0] == r"Q: a\x1b]0;title\x07\x9b2J\u202e\u3164"
    piped = subprocess.run([sys.executable, "-m", "promptpress", *arguments], capture_output=True, check=True)
    assert piped.stdout.decode() == f"Q: {HOSTILE}\n\ttext\n"  # as it is, for programs
