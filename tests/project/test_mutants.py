"""tools/mutants: the changes that it makes to small sources, and the tests that it finds."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "tools" / "mutants"))
    monkeypatch.delitem(sys.modules, "changes", raising=False)
    return importlib.import_module("changes")


def test_python(tool: ModuleType) -> None:
    source = (
        'def f(a: int, *, b: bool = False) -> int:\n    """1 < 2"""\n    if not a and b:\n'
        "        raise ValueError(1)\n    a.x = 1\n    return a - b\n"
    )
    made = {(change.operator, change.of(source)) for change in tool.python_changes(source)}
    for operator, old, new in (
        ("flag", "= False", "= True"),
        ("early return", "    if not", "    return None\n    if not"),
        ("condition", "not a and b", "not (not a and b)"),
        ("and, or", "and", "or"),
        ("not", "not a", "(a)"),
        ("statement", "a.x = 1", "pass"),
        ("number", "= 1", "= 2"),
        ("sum", "a - b", "a + b"),
    ):
        made.remove((operator, source.replace(old, new, 1)))
    assert not made


def test_rust(tool: ModuleType) -> None:
    source = (
        'fn f(a: &[u8]) -> bool {\n    // 1 <\n    if a.len() <= 3 && !is(b"!1") {\n        g();\n    }\n    true\n}\n'
        "#[cfg(test)]\nmod tests {\n    const A: bool = 1 < 2;\n}\n"
    )
    made = {(change.operator, change.of(source)) for change in tool.rust_changes(source)}
    for operator, old, new in (
        ("early return", "bool {", "bool { return false;"),
        ("condition", 'a.len() <= 3 && !is(b"!1")', '!(a.len() <= 3 && !is(b"!1"))'),
        ("comparison", "<=", "<"),
        ("and, or", "&&", "||"),
        ("not", "!is", "is"),
        ("number", "<= 3", "<= 4"),
        ("statement", "g();", ""),
        ("flag", "    true", "    false"),
    ):
        made.remove((operator, source.replace(old, new, 1)))
    assert not made


@pytest.mark.usefixtures("tool")
def test_each_file_has_tests_that_exist() -> None:
    rooms = importlib.import_module("rooms")
    assert all(any(PROJECT.glob(f"{room}*")) for room in rooms.TESTS)
    assert all((PROJECT / "tests" / test).exists() for tests in rooms.TESTS.values() for test in tests.split())
