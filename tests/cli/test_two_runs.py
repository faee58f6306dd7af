"""Two runs that would write one output, and what dead ones leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults import TRIED
from marks import UNWARNED
from parts.resume_parts import BATCH, PLAIN, folder, here, interrupted, name, parts_of, render
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.write import parts

pytestmark = [UNWARNED, pytest.mark.usefixtures("here")]

__all__ = ["folder", "here", "name"]


def test_of_two_runs_the_second_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = interrupted(name, monkeypatch, *PLAIN, "--batch-size", str(BATCH))
    holder = (
        "import os, sys, time; from promptpress_workbench.files.write.output_file import try_lock;"
        "assert try_lock(os.open(sys.argv[1], os.O_RDONLY)); print('locked', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", holder, parts.parts_folder(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        for more in (["--resume"], []):
            assert render(*PLAIN, "--batch-size", str(BATCH), "--out", out, *more) == ExitCode.OUTPUT
            assert f"{out}: another run is writing it" in capsys.readouterr().err
        other.kill()
    assert render(*PLAIN, "--batch-size", str(BATCH), "--out", out, "--resume") == 0
    TRIED["second runs refused"] += 2


def test_a_run_without_parts_is_not_disturbed_either(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = f"{name}.jsonl"
    holder = (
        "import sys, time; from promptpress_workbench.files.write.output_file import PartialFile;"
        "PartialFile(sys.argv[1]).open(); print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", holder, out], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert render(*PLAIN, "--out", out) == ExitCode.OUTPUT
        assert "another run is writing it" in capsys.readouterr().err
        assert render(*PLAIN, "--out", f"{name}x.jsonl") == 0, "another file"
        (left,) = [path for path in os.listdir() if path.startswith(f".{out}.") and path.endswith(".partial")]
        other.kill()
    assert os.path.exists(left)
    assert render(*PLAIN, "--out", out) == 0
    assert not os.path.exists(left), "what a dead run has left is deleted"
    TRIED["second runs refused"] += 1


def test_names_with_one_beginning_are_different_files(tmp_path: Path) -> None:
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from promptpress_workbench.files.write.output_file import PartialFile;"
            "PartialFile(sys.argv[1]).open(); print('locked', flush=True); time.sleep(60)",
            str(tmp_path / ("a" * 60 + "1.jsonl")),
        ],
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert render(*PLAIN, "--out", str(tmp_path / ("a" * 60 + "2.jsonl"))) == 0
        other.kill()


def test_a_run_without_resume_says_what_is_there(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = interrupted(name, monkeypatch, *PLAIN, "--batch-size", str(BATCH))
    assert main(["render", *PLAIN, "--batch-size", str(BATCH), "--out", out]) == 0
    assert "--resume would go on with it" in capsys.readouterr().err
    assert parts_of(out)
