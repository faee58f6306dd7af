"""Packages called lm_eval with code that the backend doesn't know: it stays off, with one line, and changes nothing."""

import logging
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import promptpress.lm_eval
import pytest
from promptpress_harness.lm_eval.backend import building

TASK = """
class Task:
    def build_all_requests(self, *, limit=None, **options):
        from lm_eval.utils import apply_template
        self._instances = [apply_template("{{ a }}", {"a": number}) for number in range(limit or 3)]

class ConfigurableTask(Task):
    OUTPUT_TYPE = "generate_until"
"""
UTILS = """
env = {}

def apply_template(template, doc):
    return template + str(doc)
"""
RUN = """
def run():
    from lm_eval.api.task import ConfigurableTask
    task = ConfigurableTask()
    task.build_all_requests(limit=2)
    return task._instances
"""
FILES = {"__init__.py": RUN, "api/__init__.py": "", "api/task.py": TASK, "utils.py": UTILS}
MOVED: dict[str, dict[str, str | None]] = {
    "the same names, other code": {},
    "a package of tasks": {
        "api/task.py": None,
        "api/task/__init__.py": "from ._task import Task\nConfigurableTask = Task",
        "api/task/_task.py": TASK,
    },
    "no module of tasks": {"api/task.py": None, "__init__.py": "def run():\n    import lm_eval.api.task"},
    "a module of tasks that raises": {"api/task.py": "raise RuntimeError('not here')"},
    "renamed classes": {
        "api/task.py": TASK.replace("class Task", "class Benchmark").replace("(Task)", "(Benchmark)"),
    },
    "no method of that name": {
        "api/task.py": TASK.replace("build_all_requests", "requests_of_all"),
        "__init__.py": RUN.replace("build_all_requests", "requests_of_all"),
    },
    "another signature": {
        "api/task.py": TASK.replace("*, limit=None, **options", "limit"),
        "__init__.py": RUN.replace("limit=2", "2"),
    },
    "a method that isn't a function": {
        "api/task.py": "class Task:\n    build_all_requests = dict\n    _instances = 3\nConfigurableTask = Task",
    },
    "no templates": {"utils.py": "", "api/task.py": TASK.replace("from lm_eval.utils import", "import json as")},
    "templates elsewhere": {"utils.py": "from lm_eval.templates import apply_template", "templates.py": UTILS},
    "only a package": {**dict.fromkeys(FILES), "__init__.py": "def run():\n    return 1"},
}


@pytest.fixture(autouse=True)
def _other_modules() -> Iterator[None]:
    """The package that is installed, if it has been imported, is put back after the test."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "lm_eval"}
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "lm_eval"]:
        del sys.modules[name]
    sys.modules.update(before)


def installed(folder: Path, files: dict[str, str | None], number: str | None = "0.6") -> None:
    """Write a package, and what pip writes beside it."""
    for name, text in {**FILES, **files}.items():
        if text is not None:
            (folder / "lm_eval" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "lm_eval" / name).write_text(textwrap.dedent(text))
    metadata = folder / f"lm_eval-{number}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: lm_eval\nVersion: {number}\n" if number else "")


def outcome() -> object:
    for name in [name for name in sys.modules if name.partition(".")[0] == "lm_eval"]:
        del sys.modules[name]
    try:
        import lm_eval

        return lm_eval.run()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("number", ["0.6", "0.4.13", None])
@pytest.mark.parametrize("moved", MOVED)
def test_the_backend_stays_off_with_one_line(
    moved: str, number: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    installed(tmp_path, MOVED[moved], number)
    monkeypatch.syspath_prepend(str(tmp_path))
    off = outcome()
    with caplog.at_level(logging.INFO, "promptpress.backend"), promptpress.lm_eval.backend():
        assert outcome() == off
        methods = [vars(module).get("apply_template") for module in loaded()]
        assert not any(hasattr(method, "__wrapped__") for method in methods)
    (line,) = [record.getMessage() for record in caplog.records]
    expected = "promptpress leaves prompts to the harness: its code isn't that of lm_eval 0.4.13 or 0.5.0.dev1"
    assert line == expected + (f" (installed as {number})" if number else "")


def loaded() -> list[ModuleType]:
    return [module for name, module in sys.modules.items() if name.partition(".")[0] == "lm_eval"]


def test_the_backend_can_be_switched_on_and_off_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, {})
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(2):
        promptpress.lm_eval.enable()
        promptpress.lm_eval.enable()
        promptpress.lm_eval.disable()
    assert outcome() == ["{{ a }}{'a': 0}", "{{ a }}{'a': 1}"]


def test_code_is_known_whatever_its_line_feeds(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a = 1\nb = 2\n")
    (tmp_path / "b.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    first, second = (building.digest_of(tmp_path, (name,)) for name in ("a.py", "b.py"))
    assert first == second != building.digest_of(tmp_path, ("a.py", "b.py"))
    assert building.digest_of(tmp_path, ("a.py", "c.py")) == ""
