"""PROMPTPRESS_BACKEND: what a Python process does that starts with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

STARTUP = Path(__file__).resolve().parents[2] / "startup" / "purelib"
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


def python(code, path, **environment):
    """Return what a process prints that has read the path file, as it does if the wheel is installed."""
    inherited = {name: value for name, value in os.environ.items() if name != "PROMPTPRESS_BACKEND"}
    paths = os.pathsep.join([str(path), *[folder for folder in sys.path if folder]])
    begin = f"import site; site.addsitedir({str(STARTUP)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", begin + code],
        env={**inherited, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("value", ["opencompass", "aisbench, opencompass"])
def test_the_backend_is_on_where_the_variable_names_it(harness, value):
    assert python(LOOK, harness, PROMPTPRESS_BACKEND=value).stdout.split() == ["True", "gen"]


@pytest.mark.parametrize("environment", [{}, {"PROMPTPRESS_BACKEND": ""}, {"PROMPTPRESS_BACKEND": "aisbench"}])
def test_and_off_otherwise(harness, environment):
    assert python(LOOK, harness, **environment).stdout.split() == ["False", "gen"]


def test_processes_of_processes(harness):
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    begin = f"import site; site.addsitedir({str(STARTUP)!r})\n"
    code = code.replace("sys.argv[1]", repr(begin + LOOK))
    assert python(code, harness, PROMPTPRESS_BACKEND="opencompass").stdout.split() == ["True", "gen"]


def test_nothing_is_imported_before_a_harness_is(harness):
    code = "import sys; print('promptpress' in sys.modules, 'pyarrow' in sys.modules)"
    assert python(code, harness, PROMPTPRESS_BACKEND="opencompass").stdout.split() == ["False", "False"]


def test_an_unknown_backend_is_named_and_nothing_fails(harness):
    done = python(LOOK, harness, PROMPTPRESS_BACKEND="helm")
    assert done.stdout.split() == ["False", "gen"]
    assert "no backend helm; there are opencompass, aisbench, lm_eval" in done.stderr


def test_a_harness_whose_backend_cannot_be_had_runs(harness):
    code = "import sys; sys.modules['promptpress'] = None\n" + LOOK
    done = python(code, harness, PROMPTPRESS_BACKEND="opencompass")
    assert done.stdout.split() == ["False", "gen"]
    assert "opencompass is not switched on" in done.stderr


def test_the_command_sets_the_variable():
    program = "import os; print(os.environ['PROMPTPRESS_BACKEND'])"
    code = f"import runpy, sys; sys.argv = ['run', sys.executable, '-c', {program!r}]\n"
    code += "runpy.run_module('promptpress.run', run_name='__main__')"
    assert python(code, STARTUP).stdout.split() == ["opencompass,aisbench,lm_eval"]


@pytest.mark.parametrize(("command", "code"), [("nosuchcommand", 127), (str(STARTUP), 126), ("/dev/null/x", 127)])
def test_a_command_that_cannot_be_run_has_the_code_of_a_shell(command: str, code: int) -> None:
    program = f"import runpy, sys; sys.argv = ['run', {command!r}]\n"
    program += f"import site; site.addsitedir({str(STARTUP)!r})\n"
    program += "runpy.run_module('promptpress.run', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(f"{command}: ")
    assert done.stderr.count("\n") == 1


ENABLED = """
import os, subprocess, sys
from promptpress import opencompass
LOOK = sys.argv[1]
def child():
    return subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout.split()[0]
"""


def test_enabling_in_python_reaches_the_processes_that_are_started(harness) -> None:
    begin = f"import site; site.addsitedir({str(STARTUP)!r})\n"
    code = ENABLED.replace("sys.argv[1]", repr(begin + LOOK))
    code += "print(child())\nwith opencompass.backend():\n    print(child())\nprint(child())\n"
    code += "opencompass.enable(); print(child()); opencompass.disable(); print(child())\n"
    code += "os.environ['PROMPTPRESS_BACKEND'] = 'lm_eval'\n"
    code += "opencompass.enable(); print(os.environ['PROMPTPRESS_BACKEND'], child()); opencompass.disable()\n"
    code += "print(os.environ['PROMPTPRESS_BACKEND'])"
    words = ["False", "True", "False", "True", "False", "lm_eval,opencompass", "True", "lm_eval"]
    assert python(code, harness).stdout.split() == words


def test_a_checkout_says_that_it_does_not_reach_them(harness) -> None:
    code = "import sys; sys.modules['promptpress_startup'] = None\n"
    code += "import importlib.util\nfind = importlib.util.find_spec\n"
    code += (
        "importlib.util.find_spec = lambda name, *rest: None if name == 'promptpress_startup' else find(name, *rest)\n"
    )
    code += "from promptpress import opencompass\nopencompass.enable()\n"
    reason = "promptpress saw no task in this process; those that OpenCompass runs in others aren't reached"
    assert reason not in python(code, harness).stderr
    log = python(code + "import opencompass.models.base", harness).stderr
    assert log.count(reason) == 1


def test_a_source_distribution_has_what_a_wheel_brings():
    # Without the folder that pyproject.toml names, no wheel can be built of it.
    cargo = (STARTUP.parents[1] / "Cargo.toml").read_text(encoding="utf-8")
    project = (STARTUP.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'data = "{STARTUP.parent.name}"' in project
    assert f'"{STARTUP.parent.name}/**"' in cargo


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
