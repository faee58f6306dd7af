"""PROMPTPRESS_BACKEND and the folder on PYTHONPATH: what a Python process does that starts with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_harness.run import STARTUP, add_startup, remove_startup

HARNESS = {
    "__init__.py": "",
    "models/__init__.py": "",
    "models/base.py": "class LMTemplateParser:\n    def parse_template(self, prompt, mode):\n        return mode\n",
}
LOOK = """
from opencompass.models.base import LMTemplateParser
print(hasattr(LMTemplateParser.parse_template, "__wrapped__"), LMTemplateParser().parse_template("x", "gen"))
"""


@pytest.fixture
def harness(tmp_path):
    """A package with the name of a harness, and one method of it."""
    for name, text in HARNESS.items():
        path = tmp_path / "opencompass" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def python(code, path, *folders, line=("-c",), **environment):
    """Return what a process prints whose PYTHONPATH begins with some folders."""
    inherited = {name: value for name, value in os.environ.items() if name != "PROMPTPRESS_BACKEND"}
    paths = os.pathsep.join(map(str, [*folders, path, *[folder for folder in sys.path if folder]]))
    return subprocess.run(
        [sys.executable, *line, code],
        env={**inherited, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("value", ["opencompass", "aisbench, opencompass"])
def test_the_backend_is_on_where_the_variable_names_it(harness, value):
    assert python(LOOK, harness, STARTUP, PROMPTPRESS_BACKEND=value).stdout.split() == ["True", "gen"]


@pytest.mark.parametrize("environment", [{}, {"PROMPTPRESS_BACKEND": ""}, {"PROMPTPRESS_BACKEND": "aisbench"}])
def test_and_off_otherwise(harness, environment):
    assert python(LOOK, harness, STARTUP, **environment).stdout.split() == ["False", "gen"]


def test_processes_of_processes(harness):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOK!r}], check=True)"
    assert python(code, harness, STARTUP, PROMPTPRESS_BACKEND="opencompass").stdout.split() == ["True", "gen"]


def test_nothing_is_imported_before_a_harness_is(harness):
    code = "import sys; print('promptpress' in sys.modules, 'pyarrow' in sys.modules)"
    assert python(code, harness, STARTUP, PROMPTPRESS_BACKEND="opencompass").stdout.split() == ["False", "False"]


def test_an_unknown_backend_is_named_and_nothing_fails(harness):
    done = python(LOOK, harness, STARTUP, PROMPTPRESS_BACKEND="helm")
    assert done.stdout.split() == ["False", "gen"]
    assert "no backend helm; there are opencompass, aisbench, lm_eval" in done.stderr


def test_a_harness_whose_backend_cannot_be_had_runs(harness):
    code = "import sys; sys.modules['promptpress'] = None\n" + LOOK
    done = python(code, harness, STARTUP, PROMPTPRESS_BACKEND="opencompass")
    assert done.stdout.split() == ["False", "gen"]
    assert "opencompass is not switched on" in done.stderr


def test_the_command_sets_the_variable(harness):
    program = "import os; print(os.environ['PROMPTPRESS_BACKEND'])"
    code = f"import runpy, sys; sys.argv = ['run', sys.executable, '-c', {program!r}]\n"
    code += "runpy.run_module('promptpress.run', run_name='__main__')"
    assert python(code, harness).stdout.split() == ["opencompass,aisbench,lm_eval"]


def test_the_command_reaches_processes_of_processes(harness):
    line = ("-m", "promptpress.run", sys.executable, "-c")
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOK!r}], check=True)"
    assert python(code, harness, line=line).stdout.split() == ["True", "gen"]


PROGRAM = "import sys\nprint('own', __name__, sys.modules[__name__].__file__ == __file__)"


def test_the_next_sitecustomize_is_run(harness):
    (harness / "sitecustomize.py").write_text(PROGRAM)
    line = ("-m", "promptpress.run", sys.executable, "-c")
    code = LOOK + "import sitecustomize; print(sitecustomize.__file__)"
    lines = python(code, harness, line=line).stdout.splitlines()
    printed = "own sitecustomize True"  # in the process of the command, and in its command's
    assert lines == [printed, printed, "True gen", str(harness / "sitecustomize.py")]


def test_an_error_of_the_next_sitecustomize_is_shown_by_python(harness):
    (harness / "sitecustomize.py").write_text("raise ValueError('own')")
    assert "Error in sitecustomize" in python("pass", harness).stderr
    done = python(LOOK, harness, STARTUP, PROMPTPRESS_BACKEND="opencompass")
    assert done.stdout.split() == ["True", "gen"]
    assert "Error in sitecustomize" in done.stderr


def test_processes_without_the_package_are_left_alone(harness):
    # As those of another environment, which inherit the variables.
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            LOOK.replace("from opencompass", "import sys; sys.path.insert(0, sys.argv[1])\nfrom opencompass"),
            harness,
        ],
        env={"PYTHONPATH": STARTUP, "PROMPTPRESS_BACKEND": "opencompass"},
        capture_output=True,
        text=True,
        check=True,
        cwd=harness.parent,
    )
    assert done.stdout.split()[1] == "gen"


SITE = "import sysconfig; sysconfig.get_path = lambda name: {folder!r}\nimport sys; sys.argv = ['run', {option!r}]\n"


def test_the_file_is_written_and_deleted(harness, tmp_path):
    def run(option):
        return python(
            SITE.format(folder=str(tmp_path), option=option) + "from promptpress.run import main; main()", harness
        )

    path = tmp_path / "promptpress_backend.pth"
    assert run("--install").stdout.startswith(f"wrote {path}; ")
    assert path.read_text().count("\n") == 1
    code = f"import site; site.addsitedir({str(tmp_path)!r})\n" + LOOK
    assert python(code, harness, PROMPTPRESS_BACKEND="opencompass").stdout.split() == ["True", "gen"]
    assert python(code, harness).stdout.split() == ["False", "gen"]
    # Both ways at once are one.
    done = python(code, harness, STARTUP, PROMPTPRESS_BACKEND="opencompass,helm")
    assert done.stdout.split() == ["True", "gen"]
    assert done.stderr.count("no backend helm") == 1
    assert run("--uninstall").stdout == f"deleted {path}\n"
    assert not path.exists()
    assert run("--uninstall").stdout == f"{path} isn't there\n"


def test_a_file_that_cannot_be_written_is_named(harness):
    code = SITE.format(folder="/dev/null", option="--install") + "from promptpress.run import main; main()"
    with pytest.raises(subprocess.CalledProcessError) as raised:
        python(code, harness)
    assert raised.value.stderr == "/dev/null/promptpress_backend.pth: Not a directory\n"
    with pytest.raises(subprocess.CalledProcessError) as raised:
        python(code.replace("'--install'", "'--install', 'x'"), harness)
    assert raised.value.stderr.startswith("--install stands alone\nusage: ")


@pytest.mark.parametrize(("command", "code"), [("nosuchcommand", 127), (STARTUP, 126), ("/dev/null/x", 127)])
def test_a_command_that_cannot_be_run_has_the_code_of_a_shell(command: str, code: int) -> None:
    program = f"import runpy, sys; sys.argv = ['run', {command!r}]\n"
    program += "runpy.run_module('promptpress.run', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(f"{command}: ")
    assert done.stderr.count("\n") == 1


ENABLED = """
import multiprocessing, os, subprocess, sys

def child():
    return subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout.split()[0]

def look():
    from opencompass.models.base import LMTemplateParser
    return hasattr(LMTemplateParser.parse_template, "__wrapped__"), "promptpress.opencompass" in sys.modules

def spawned():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(look)

def main():
    from promptpress import opencompass
    before = os.environ["PYTHONPATH"]
    print(child(), *spawned())
    with opencompass.backend():
        print(child(), *spawned())
    print(child(), *spawned(), os.environ["PYTHONPATH"] == before)
    opencompass.enable(); print(child()); opencompass.disable(); print(child())
    os.environ['PROMPTPRESS_BACKEND'] = 'lm_eval'
    opencompass.enable(); print(os.environ['PROMPTPRESS_BACKEND'], child()); opencompass.disable()
    print(os.environ['PROMPTPRESS_BACKEND'], os.environ["PYTHONPATH"] == before)
    os.environ['PROMPTPRESS_BACKEND'] = 'opencompass'
    print(child()); opencompass.enable(); print(child()); opencompass.disable()

if __name__ == "__main__":
    main()
"""


def test_enabling_in_python_reaches_the_processes_that_are_started(harness) -> None:
    program = harness / "program.py"
    program.write_text(f"LOOK = {LOOK!r}\n{ENABLED}")
    lines = python(str(program), harness, line=()).stdout.splitlines()
    assert lines[:3] == ["False False False", "True True True", "False False False True"]
    assert lines[3:] == ["True", "False", "lm_eval,opencompass True", "lm_eval True", "False", "True"]


@pytest.mark.parametrize("before", [None, "", "/a", os.pathsep.join(["/a", "/b"])])
def test_the_folder_is_added_once_and_removed(before: str | None) -> None:
    environment = {} if before is None else {"PYTHONPATH": before}
    assert add_startup(environment)
    assert environment["PYTHONPATH"].split(os.pathsep) == [STARTUP, *(before.split(os.pathsep) if before else [])]
    assert not add_startup(environment)
    remove_startup(environment)
    assert environment.get("PYTHONPATH", "") == (before or "")


def test_importing_waits_for_nothing_that_is_slow() -> None:
    code = "import sys, promptpress; print([name for name in ('pandas', 'pyarrow.compute') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "command",
    [
        ["render", "--out", "out.jsonl"],
        ["render", "--out", "out.parquet", "--hashes"],
        ["render", "--out", "out.arrow", "--keep", "q"],
        ["export", "openai-batch", "--model-name", "m", "--output", "messages", "--out", "batch.jsonl"],
        ["fingerprint"],
    ],
    ids=lambda command: "-".join(command[:3:2]),
)
def test_no_command_waits_for_pandas_to_render(tmp_path: Path, command: list[str]) -> None:
    # Where it is installed, pyarrow imports it to make an array or a scalar of Python's values.
    (tmp_path / "pandas.py").write_text("open('imported', 'w').close(); raise ImportError('not this one')")
    examples = {"q": ["a", None], "a": ["b", "c"], "n": [1, None], "f": [1.5, float("nan")], "b": [True, None]}
    for name, columns in {"examples": examples, "samples": {**examples, "q": ["x", "y"]}}.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    parts = {
        "ice_template": {"template": "{q} {n} {f} {b} {a}"},
        "prompt_template": {
            "template": {"begin": "</E>", "round": [{"role": "HUMAN", "prompt": "{q}"}]},
            "ice_token": "</E>",
        },
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
        "reader": {"input_columns": ["q", "n", "f", "b"], "output_column": "a"},
        "inferencer": {"type": "GenInferencer"},
    }
    (tmp_path / "config.json").write_text(json.dumps(parts))
    verb, rest = (command[:2], command[2:]) if command[0] == "export" else (command[:1], command[1:])
    data = [] if command[0] == "fingerprint" else ["--data", "samples.parquet", "--quiet"]
    line = [*verb, "config.json", "--examples", "examples.parquet", *data, *rest]
    paths = os.pathsep.join([str(tmp_path), *[folder for folder in sys.path if folder]])
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "promptpress", *line],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert not (tmp_path / "imported").exists()


def test_few_examples_are_rendered_without_arrows_kernels(tmp_path: Path) -> None:
    pq.write_table(pa.table({"q": ["a", "b"], "n": [1, 2]}), tmp_path / "table.parquet")
    parts = {
        "ice_template": {"template": "{q} {n}"},
        "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
        "reader": {"input_columns": ["q"], "output_column": "n"},
    }
    (tmp_path / "config.json").write_text(json.dumps(parts))
    given = ["render", "config.json", "--data", "table.parquet", "--examples", "table.parquet", "--out", "out.jsonl"]
    run = f"import sys; from promptpress_workbench.cli import main; main({given})"
    code = f"{run}; print('pyarrow.compute' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "False", done.stderr
