"""Where pyarrow can't be imported, the package says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import promptpress
import pytest

PACKAGE = Path(promptpress.__file__).parents[1]
REMEDY = "pip install 'promptpress[harness]'"
WHY = {
    "an older numpy": "pyarrow requires NumPy 2.0 or newer, found 1.26.4",
    "a library": "libarrow.so.2600: cannot open shared object file:\n No such file or directory",
}


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{PACKAGE}"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.fixture(params=WHY.values(), ids=[*WHY])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "pyarrow.py").write_text(f"raise ImportError({request.param!r})\n")
    (tmp_path / "promptpress").write_text("from promptpress.__main__ import main\nmain()\n")
    return tmp_path


@pytest.mark.parametrize("how", [("promptpress",), ("-m", "promptpress"), ("-m", "promptpress.run")])
def test_the_command_says_it_in_one_line(folder: Path, how: tuple[str, ...]) -> None:
    done = python(folder, *how, "--version")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("promptpress: error: pyarrow can't be imported: ")
    assert REMEDY in done.stderr
    assert "Traceback" in python(folder, *how, "--version", "--traceback").stderr


def test_an_import_raises_it(folder: Path) -> None:
    done = python(folder, "-c", "import promptpress")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: pyarrow can't be imported: ")
    assert REMEDY in done.stderr
