"""Ctrl-C while the command's modules are imported: no traceback, and other programs' own handling stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import promptpress
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

PACKAGE = str(Path(promptpress.__file__).parent.parent)
INTERRUPTED = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the import of a module that the package needs is interrupted."""
    (folder / "pyarrow.py").write_text(INTERRUPTED, encoding="utf-8")
    paths = os.pathsep.join([str(folder), PACKAGE])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        # What runs in the background of a shell has the signal ignored, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize("options", [[], ["-X", "utf8"]])
def test_the_command_ends_by_the_signal_without_a_word(tmp_path: Path, options: list[str]) -> None:
    done = run(tmp_path, *options, "-m", "promptpress", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_the_script_does_so_too(tmp_path: Path) -> None:
    (tmp_path / "promptpress.py").unlink(missing_ok=True)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "promptpress"
    script.write_text("from promptpress.__main__ import main\nmain()\n", encoding="utf-8")
    done = run(tmp_path, str(script), "--version")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("words", [["-c", "import promptpress"], ["other.py", "-m", "promptpress"]])
def test_other_programs_are_interrupted_as_usual(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "other.py").write_text("import promptpress", encoding="utf-8")
    given = [str(tmp_path / word) if word == "other.py" else word for word in words]
    done = run(tmp_path, *given)
    assert "KeyboardInterrupt" in done.stderr
