"""Lines in several files: whatever kills a run while it names them, the next run isn't hindered by what it left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from promptpress._errors.file_errors import OutputError
from promptpress_workbench.files.write.shards import sharded_lines

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

LINES = pa.array([b"one\n", b"two\n", b"three\n"], pa.large_binary())
WHOLE = {"a-00000.jsonl": b"one\n", "a-00001.jsonl": b"two\n", "a-00002.jsonl": b"three\n"}
STEPS = ("open", "replace", "unlink", "fsync", "write")
"""The calls of the system before which a run is killed."""


def written(folder: Path) -> None:
    with sharded_lines(str(folder / "a.jsonl"), max_lines=1) as files:
        files.write(LINES)


def killed_before(step: int, folder: Path) -> bool:
    """Write in a process that is killed before a step; return false if it has fewer steps."""
    child = os.fork()
    if not child:
        left = step

        def killing(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **more: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*arguments, **more)

            return call

        for name in STEPS:
            setattr(os, name, killing(getattr(os, name)))
        try:
            written(folder)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def names(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_goes_on_whatever_a_killed_one_has_left(tmp_path: Path) -> None:
    ends = set()
    for step in range(200):
        folder = tmp_path / str(step)
        folder.mkdir()
        if not killed_before(step, folder):
            break
        left = {name for name in names(folder) if name in WHOLE}
        ends.add(len(left))
        if left == set(WHOLE) and ".a.jsonl.naming" not in names(folder):  # nothing is to be mended
            with pytest.raises(OutputError, match="is there of an earlier run"):
                written(folder)
        else:
            written(folder)
        assert names(folder) == WHOLE, step
    else:
        raise AssertionError
    assert ends == {0, 1, 2, 3}


def test_files_that_somebody_else_has_put_there_stay(tmp_path: Path) -> None:
    """A run is killed between the names, and then its files are replaced by others."""
    for step in range(200):
        folder = tmp_path / str(step)
        folder.mkdir()
        assert killed_before(step, folder)
        if "a-00001.jsonl" in names(folder):
            break
    (folder / "a-00001.jsonl").rename(folder / "kept")
    (folder / "a-00001.jsonl").write_bytes(b"mine\n")
    with pytest.raises(OutputError, match=r"a-00001\.jsonl is there of an earlier run"):
        written(folder)
    assert names(folder)["a-00001.jsonl"] == b"mine\n"
    assert "a-00000.jsonl" not in names(folder)


def test_a_run_that_names_its_files_is_left_alone(tmp_path: Path) -> None:
    import fcntl

    (tmp_path / ".a.jsonl.naming").write_text("{}")
    with open(tmp_path / ".a.jsonl.naming", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another run is writing it"):
            written(tmp_path)
    written(tmp_path)
    assert names(tmp_path) == WHOLE


@pytest.mark.parametrize("text", ["", "{", "[]", '{"../x": 1}', '{"a": "b"}', "null"])
def test_a_damaged_note_does_no_harm(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text("kept")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / ".a.jsonl.naming").write_text(text)
    written(folder)
    assert names(folder) == WHOLE
    assert (tmp_path / "x").read_text() == "kept"
