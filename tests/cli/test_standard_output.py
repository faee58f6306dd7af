"""`--out -`: every byte arrives, or the exit code says that some didn't."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import warm
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.write.output_file import WholeWrites

ROWS = 50_000
ROW = {"prompt": "Q: " + "a" * 40}
SIZE = ROWS * (len(json.dumps(ROW)) + 1)
BUFFERING = pytest.mark.parametrize("unbuffered", ["", "1"])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "q.json").write_text('{"prompt_template": "Q: {question}"}', encoding="utf-8")
    (folder / "big.jsonl").write_text((json.dumps({"question": "a" * 40}) + "\n") * ROWS, encoding="utf-8")
    return folder


def start(inputs: Path, unbuffered: str, *more: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "promptpress", "render", "q.json", "--data", "big.jsonl", "--out", "-", *more]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    return subprocess.Popen(
        command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": inputs, "env": environment, **options}
    )


def pipe_that_is_full(process: subprocess.Popen[bytes]) -> None:
    """Wait until the first prompts are there, and a moment for the pipe to be full of them."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 60)[0]
    time.sleep(0.3)


@BUFFERING
def test_a_reader_that_goes_before_all_is_written(inputs: Path, unbuffered: str) -> None:
    process = start(inputs, unbuffered)
    pipe_that_is_full(process)
    with process:
        process.stdout.close()  # type: ignore[union-attr]
        error = process.stderr.read().decode()  # type: ignore[union-attr]
    assert not error
    assert process.returncode == ExitCode.READER_GONE


@BUFFERING
def test_a_file_that_may_not_grow(inputs: Path, unbuffered: str, tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    with open(tmp_path / "out.jsonl", "wb") as out:
        process = start(inputs, unbuffered, stdout=out, preexec_fn=limited)
        _, error = process.communicate(timeout=60)
    assert process.returncode == ExitCode.OUTPUT
    assert error.decode() == "promptpress: error: standard output: File too large (disk full)\n"


@BUFFERING
def test_a_first_prompt_that_is_cut(inputs: Path, unbuffered: str, tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    (tmp_path / "long.jsonl").write_text(json.dumps({"question": "a" * 300_000}), encoding="utf-8")
    command = [sys.executable, "-m", "promptpress", "render", str(inputs / "q.json"), "--data", "long.jsonl"]
    command += ["--out", "out.parquet", "--print-first"]
    with open(tmp_path / "out.txt", "wb") as out:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, cwd=tmp_path, env=environment, preexec_fn=limited, check=False
        )
    assert done.stderr.decode() == "promptpress: error: standard output: File too large (disk full)\n"
    assert done.returncode == ExitCode.OUTPUT
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
@BUFFERING
def test_a_full_disk(inputs: Path, unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        process = start(inputs, unbuffered, stdout=full)
        assert "No space left" in process.communicate(timeout=60)[1].decode()
    assert process.returncode == ExitCode.OUTPUT


@BUFFERING
def test_a_process_that_is_stopped_in_the_midst(inputs: Path, unbuffered: str) -> None:
    process = start(inputs, unbuffered)
    pipe_that_is_full(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, len(out)) == (0, SIZE)
    assert json.loads(out.splitlines()[-1]) == ROW


@BUFFERING
def test_a_pipe_that_does_not_block(inputs: Path, unbuffered: str) -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = start(inputs, unbuffered, stdout=write)
    os.close(write)
    time.sleep(1)
    with process, open(read, "rb") as pipe:
        out = pipe.read()
    assert (process.returncode, len(out)) == (0, SIZE)


def test_a_signal_does_not_say_that_nothing_is_written(inputs: Path) -> None:
    process = start(inputs, "", "--batch-size", "100")
    pipe_that_is_full(process)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == ExitCode.TERMINATED
    assert error.decode() == "promptpress: error: terminated, what standard output has may be incomplete\n"


def test_what_takes_a_little_at_a_time_gets_all() -> None:
    class Narrow:
        got = b""
        turn = 0

        def flush(self) -> None: ...

        def write(self, data: memoryview) -> int | None:
            self.turn += 1
            if self.turn % 3 == 0:
                return None  # what a raw stream says where it would block
            if self.turn % 3 == 1:
                blocked = BlockingIOError(11, "would block", 1)
                self.got += bytes(data[:1])
                raise blocked
            self.got += bytes(data[:2])
            return len(data[:2])

    narrow: Any = Narrow()
    assert WholeWrites(narrow).write(b"abcdefghijk") == 11
    assert narrow.got == b"abcdefghijk"


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no such name")
def test_the_devices_name_is_standard_output(inputs: Path) -> None:
    command = warm.command("render", "q.json", "--data", "big.jsonl", "--limit", "2", "--out")
    for more in (["/dev/stdout"], ["/dev/stdout", "--out-format", "jsonl"]):
        done = subprocess.run([*command, *more], capture_output=True, cwd=inputs, check=False, timeout=60)
        assert [json.loads(line) for line in done.stdout.splitlines()] == [ROW] * 2
    done = subprocess.run([*command, "-", "--out-format", "parquet"], capture_output=True, cwd=inputs, check=False)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, b"")
    assert b"--out-format parquet: standard output is JSONL" in done.stderr
