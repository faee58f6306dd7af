"""Run by an interpreter that has promptpress installed, in an empty folder: it does what a user does first."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq

SITE_PACKAGES = Path(sysconfig.get_path("purelib")).resolve()
LIBRARY_FOLDERS = {SITE_PACKAGES, Path(sysconfig.get_path("platlib")).resolve()}
SCRIPTS = sysconfig.get_path("scripts")


def main() -> None:
    """Import, render, run the command, start with a backend asked for."""
    package = Path(pp.__file__).resolve().parent
    assert package.parent in LIBRARY_FOLDERS, package
    assert pp.__version__ == importlib.metadata.version("promptpress")
    assert (package / "py.typed").exists()
    assert (package / "_core.pyi").exists()

    samples = pa.table({"question": ["1+1=?", "2+3=?"], "answer": ["2", "5"]})
    renderer = pp.Renderer("Q: {question}\nA: {answer}", reader={"output_column": "answer"})
    assert renderer.render(samples)["prompt"].to_pylist() == ["Q: 1+1=?\nA: ", "Q: 2+3=?\nA: "]

    Path("job.json").write_text(json.dumps({"prompt_template": "Q: {question}"}), encoding="utf-8")
    Path("data.jsonl").write_text('{"question": "1+1=?"}\n', encoding="utf-8")
    command = shutil.which("promptpress", path=SCRIPTS)
    assert command is not None
    backend_command = shutil.which("promptpress-run", path=SCRIPTS)
    assert backend_command is not None
    printed = run([command, "render", "job.json", "--data", "data.jsonl", "--out", "-", "--quiet"]).stdout
    assert json.loads(printed) == {"prompt": "Q: 1+1=?"}, printed
    for _ in range(2):  # the second time over a file that is there
        run([command, "render", "job.json", "--data", "data.jsonl", "--out", "prompts.parquet", "--quiet"])
    assert pq.read_table("prompts.parquet").num_rows == 1
    assert run([command, "--version"]).stdout.split() == ["promptpress", pp.__version__]

    # Processes of `promptpress-run` look for backends when they start, and name one that there isn't. Without the
    # command the variable does nothing, unless the file that `--install` writes is there.
    program, path_file = [sys.executable, "-c", "pass"], SITE_PACKAGES / "promptpress_backend.pth"
    variable = {"PROMPTPRESS_BACKEND": "no_such"}
    started = run([backend_command, *program], **variable)
    assert "no backend no_such" in started.stderr, started.stderr
    assert run(program, **variable).stderr == ""
    run([backend_command, "--install"])
    assert path_file.exists()
    assert "no backend no_such" in run(program, **variable).stderr
    assert run(program, PROMPTPRESS_BACKEND="").stderr == ""
    run([backend_command, "--uninstall"])
    assert not path_file.exists()
    print(f"{sys.version_info.major}.{sys.version_info.minor}: promptpress {pp.__version__}, pyarrow {pa.__version__}")


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command; what it prints."""
    inherited = {**os.environ, **environment}
    return subprocess.run(command, env=inherited, capture_output=True, text=True, check=True, encoding="utf-8")


if __name__ == "__main__":
    main()
