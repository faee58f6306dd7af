"""The backend off and on over many tasks: with the lm-eval that is installed, with 0.5, and with code that has moved.

0.5 is read from the folder that `PROMPTPRESS_LM_EVAL` names, into which `make test-jinja` has pip install
requirements/lm-eval-next.txt. Without it those tests count as skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from real.jinja.test_lm_eval_backend_shipped import needs_recorded

lm_eval = pytest.importorskip("lm_eval")
pytest.importorskip("datasets")

VARIABLE = "PROMPTPRESS_LM_EVAL"
FOLDER = Path(os.environ.get(VARIABLE, "no folder")).absolute()
needs_next = pytest.mark.skipif(
    not (FOLDER / "lm_eval").is_dir(), reason=f"{VARIABLE} names no folder with lm_eval 0.5"
)
TESTS = Path(__file__).parents[2]
INSTALLED = Path(lm_eval.__file__).parent
SECONDS = 550


def run(*arguments: str, before: Path | None = None, module: str = "lm_eval_versions") -> dict[str, Any]:
    """Run a comparison in a process of its own, and return what it prints."""
    paths = [str(path) for path in (before, TESTS) if path is not None]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", f"real.jinja.{module}", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    counts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**counts, "warnings": [line for line in done.stderr.splitlines() if "promptpress - WARNING" in line]}


def copied(package: Path, folder: Path, version: str) -> Path:
    """Install a package's code into a folder, without its tasks, as pip does with all of it."""

    def without_tasks(directory: str, names: list[str]) -> set[str]:
        is_tasks = Path(directory) == package / "tasks"
        return {name for name in names if is_tasks and (package / "tasks" / name).is_dir()} | {"__pycache__"}

    shutil.copytree(package, folder / "lm_eval", ignore=without_tasks)
    metadata = folder / f"lm_eval-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: lm_eval\nVersion: {version}\n", encoding="utf-8")
    return folder


@pytest.mark.full
def test_the_installed_version() -> None:
    counts = run("all")
    print(counts)
    assert Path(counts["file"]).parent == INSTALLED
    assert counts["same requests and results"] >= 100
    assert counts["in bulk"] >= 100
    assert counts["tasks"] == counts["same requests and results"] + counts["both raise"]


@needs_next
@pytest.mark.full
def test_the_next_version() -> None:
    counts = run("all", before=FOLDER)
    print(counts)
    assert Path(counts["file"]).is_relative_to(FOLDER)
    assert counts["version"] == "0.5.0.dev1"
    assert counts["same requests and results"] >= 100
    assert counts["in bulk"] >= 100
    assert counts["tasks"] == counts["same requests and results"] + counts["both raise"]


@needs_next
@needs_recorded
@pytest.mark.full
def test_shipped_tasks_of_the_next_version() -> None:
    counts = run("shipped", before=FOLDER)
    print(counts)
    assert Path(counts["file"]).is_relative_to(FOLDER)
    assert counts["same requests and results"] >= 200
    assert counts["tasks"] == counts["same requests and results"] + counts["both raise"]


def moved_module(package: Path) -> None:
    (package / "api" / "task").mkdir()
    (package / "api" / "task.py").rename(package / "api" / "task" / "_task.py")
    (package / "api" / "task" / "__init__.py").write_text("from ._task import ConfigurableTask, Task\n")


def renamed_classes(package: Path) -> None:
    file = package / "api" / "task.py"
    text = file.read_text(encoding="utf-8").replace("class ConfigurableTask(Task)", "class YamlTask(Task)")
    file.write_text(f"{text}\n\nConfigurableTask = YamlTask\n", encoding="utf-8")


@pytest.mark.parametrize("change", [moved_module, renamed_classes])
def test_code_that_has_moved(change: Any, tmp_path: Path) -> None:
    if lm_eval.__version__ != "0.4.13":
        pytest.skip("the changes are to 0.4.13")
    folder = copied(INSTALLED, tmp_path, "0.4.14")
    change(folder / "lm_eval")
    counts = run("6", before=folder)
    assert Path(counts["file"]).is_relative_to(tmp_path)
    assert counts["same requests and results"] == counts["tasks"] == 6
    # A line for each time that the backend is switched on.
    lines = {line.partition("WARNING - ")[2] for line in counts["warnings"]}
    assert lines == {
        "promptpress leaves prompts to the harness: "
        "its code isn't that of lm_eval 0.4.13 or 0.5.0.dev1 (installed as 0.4.14)"
    }
