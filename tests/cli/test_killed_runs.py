"""Runs that are killed at any of their steps, and disks that are full: nothing is lost, and nothing is mixed."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from faults import TRIED
from marks import UNWARNED
from parts.resume_parts import EXAMPLES, INTERRUPTED, folder, here, name, parts_of, render, samples
from promptpress_workbench.cli.errors import ExitCode

pytestmark = [UNWARNED, pytest.mark.usefixtures("here")]

__all__ = ["folder", "here", "name"]

OUTPUTS = ["parquet", "jsonl", "jsonl.gz", "arrow", "csv.zst"]
FAULTY = ["--batch-size", "300", "--index", "row", "--keep", "id", "--resume", "--quiet"]


def command_of(number: int, out: str) -> list[str]:
    """Commands that take turns."""
    configs = [
        ["gen.json", "--data", "data.parquet"],
        ["random.json", "--data", "data.jsonl", *EXAMPLES],
        ["ppl.json", "--data", "part-1.parquet", "part-2.parquet"],
        ["turns.json", "--data", "data.arrow"],
    ]
    return ["render", *configs[number % len(configs)], "--out", out, *FAULTY]


def wrapped(command: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    line = warm.command(*options, "--", *command, program=INTERRUPTED)
    return subprocess.run(line, capture_output=True, text=True, check=False)


def in_a_process(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    line = [sys.executable, INTERRUPTED, "--", *command]
    return subprocess.run(line, capture_output=True, text=True, env=environment, check=False, **more)


@pytest.fixture(scope="module")
def wholes(folder: Path) -> Callable[[int, str], tuple[bytes, int]]:
    """Return the output of each command if nothing goes wrong, and the number of its steps."""
    cached: dict[tuple[int, str], tuple[bytes, int]] = {}

    def whole(number: int, suffix: str) -> tuple[bytes, int]:
        key = (number % 4, suffix)
        if key not in cached:
            out = folder / f"whole-{key[0]}.{suffix}"
            done = wrapped(command_of(number, str(out)))
            assert done.returncode == 0, done.stderr
            cached[key] = (out.read_bytes(), int(done.stderr.splitlines()[-1]))
        return cached[key]

    return whole


def leftovers(folder: Path, out: str) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(f".{out}") and not name.endswith(".parts")]


def check_kills(moments: Iterator[int], tmp_path: Path, wholes: Any, seed: int) -> None:
    draw = random.Random(seed)
    for number in moments:
        suffix = OUTPUTS[draw.randrange(len(OUTPUTS))]
        whole, steps = wholes(number, suffix)
        out = tmp_path / f"{number}.{suffix}"
        command = command_of(number, str(out))
        killed = 0
        while True:  # a run may be killed, and the run that resumes it, too
            done = wrapped(command, "--kill", str(draw.randrange(1, steps + 1)))
            if done.returncode == 0 or killed == 2:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
            killed += 1
            TRIED["runs killed by SIGKILL at a random step"] += 1
            assert not out.exists() or out.read_bytes() == whole, "complete or not there"
        assert render(*command[1:-1]) == 0
        assert out.read_bytes() == whole
        assert not leftovers(tmp_path, out.name)
        assert not parts_of(str(out))


def test_killed_runs_are_resumed(tmp_path: Path, wholes: Any) -> None:
    check_kills(iter(range(4)), tmp_path, wholes, seed=int(time.time()) if not os.environ.get("CI") else 7)


@pytest.mark.full
def test_runs_killed_at_a_hundred_random_moments_are_resumed(tmp_path: Path, wholes: Any) -> None:
    check_kills(iter(range(100)), tmp_path, wholes, seed=1)
    assert TRIED["runs killed by SIGKILL at a random step"] >= 100


@pytest.mark.full
def test_every_step_of_a_run_may_be_its_last(tmp_path: Path, wholes: Any) -> None:
    whole, steps = wholes(0, "parquet")
    for step in range(1, steps + 1):
        out = tmp_path / f"{step}.parquet"
        done = wrapped(command_of(0, str(out)), "--kill", str(step))
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not out.exists() or out.read_bytes() == whole
        assert render(*command_of(0, str(out))[1:-1]) == 0
        assert out.read_bytes() == whole
        assert not leftovers(tmp_path, out.name)
        TRIED["runs killed by SIGKILL at each of their steps"] += 1


@pytest.mark.full
def test_runs_killed_by_the_clock_are_resumed(tmp_path: Path, folder: Path) -> None:
    """Without anything in between: a real command on more rows, killed after some milliseconds."""
    pq.write_table(pa.concat_tables([samples().select(["q", "a"])] * 200), tmp_path / "many.parquet")
    given = [str(folder / "gen.json"), "--data", str(tmp_path / "many.parquet"), "--batch-size", "4096", "--quiet"]
    command = [sys.executable, "-m", "promptpress", "render", *given]
    assert subprocess.run([*command, "--out", str(tmp_path / "whole.parquet")], check=False).returncode == 0
    begun = time.monotonic()
    subprocess.run([*command, "--out", str(tmp_path / "b.parquet"), "--resume"], check=True)
    seconds = time.monotonic() - begun
    draw = random.Random(3)
    for number in range(30):
        out = tmp_path / f"{number}.parquet"
        with subprocess.Popen([*command, "--out", str(out), "--resume"], start_new_session=True) as run:
            time.sleep(draw.random() * seconds)
            run.kill()
        subprocess.run([*command, "--out", str(out), "--resume"], check=True)
        assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
        TRIED["runs killed by SIGKILL after a random time"] += 1
        out.unlink()


def check_full_disks(count: int, tmp_path: Path, wholes: Any, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(count):
        suffix = OUTPUTS[number % len(OUTPUTS)]
        whole, steps = wholes(number, suffix)
        out = tmp_path / f"{number}.{suffix}"
        command = command_of(number, str(out))
        done = wrapped(command, "--full", str(draw.randrange(1, steps + 1)))
        # The last steps are renaming and deleting, which need no space.
        assert done.returncode in (ExitCode.OUTPUT, ExitCode.OK), done.stderr
        if done.returncode == ExitCode.OUTPUT:
            assert "No space left on device (disk full)" in done.stderr
            assert not out.exists()
            assert not leftovers(tmp_path, out.name), "nothing but whole parts takes space"
            TRIED["full disks"] += 1
        assert render(*command[1:-1]) == 0
        assert out.read_bytes() == whole


def test_a_full_disk_loses_nothing(tmp_path: Path, wholes: Any) -> None:
    check_full_disks(4, tmp_path, wholes, seed=int(time.time()) if not os.environ.get("CI") else 7)


@pytest.mark.full
def test_twenty_full_disks_lose_nothing(tmp_path: Path, wholes: Any) -> None:
    check_full_disks(25, tmp_path, wholes, seed=2)
    assert TRIED["full disks"] >= 20


@pytest.mark.parametrize("limit", [2_000, 20_000, 60_000])
def test_a_file_that_may_not_grow_is_a_full_disk(limit: int, tmp_path: Path, wholes: Any) -> None:
    whole, _ = wholes(0, "jsonl")
    out = tmp_path / "out.jsonl"

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = in_a_process(command_of(0, str(out)), preexec_fn=small_files)
    assert done.returncode == ExitCode.OUTPUT
    assert "(disk full)" in done.stderr
    assert not out.exists()
    assert render(*command_of(0, str(out))[1:-1]) == 0
    assert out.read_bytes() == whole
    TRIED["files that may not grow"] += 1


def test_a_small_disk(tmp_path: Path, wholes: Any) -> None:
    """A file system of its own that is really full, where one may be made without being root."""
    whole, _ = wholes(0, "jsonl")
    tried = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False) if _has("unshare") else None
    if tried is None or tried.returncode:
        pytest.skip("no file system may be mounted here")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [sys.executable, INTERRUPTED, "--", *command_of(0, str(disk / "out.jsonl"))]
    for kib in (32, 128, 300):
        script = (
            f'mount -t tmpfs -o size={kib}k tmpfs "$0" || exit 99; "$@"; code=$?; mount -o remount,size=8m "$0"; '
            f'ls -A "$0" >&2; "$@" || exit 98; cp "$0"/out.jsonl {tmp_path}/{kib}.jsonl; exit $code'
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        done = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script, str(disk), *command],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        if done.returncode == 99:
            pytest.skip("no file system may be mounted here")
        assert done.returncode == ExitCode.OUTPUT, done.stderr
        assert "No space left on device (disk full)" in done.stderr
        assert (tmp_path / f"{kib}.jsonl").read_bytes() == whole
        TRIED["small file systems filled"] += 1


def _has(program: str) -> bool:
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.environ["PATH"].split(os.pathsep))


def test_signals_that_can_be_caught_leave_whole_parts(tmp_path: Path, folder: Path) -> None:
    given = [
        str(folder / "random.json"),
        "--data",
        str(folder / "long.parquet"),
        "--examples",
        str(folder / "long.parquet"),
    ]
    out = tmp_path / "out.jsonl"
    command = [sys.executable, INTERRUPTED, "--", "render", *given, "--out", str(out), "--batch-size", "50", "--resume"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as run:
        deadline = time.monotonic() + 60
        while len(parts_of(str(out))) < 4 and time.monotonic() < deadline and run.poll() is None:
            time.sleep(0.002)
        run.send_signal(signal.SIGTERM)
        _, error = run.communicate()
    assert run.returncode == ExitCode.TERMINATED, error
    assert "the same command goes on there" in error
    assert [name for name in parts_of(str(out)) if "partial" in name] == []
    assert not out.exists()
