"""docs/jinja-compiled.md is what compiling gives, of everything that Jinja has."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from promptpress._jinja import run
from promptpress._jinja.chat import shape_programs
from promptpress._jinja.compiler import calls, compilation, filters
from promptpress._jinja.sandbox import bounded, bounds
from promptpress._jinja.sandbox.environments import ENVIRONMENTS, environment

PROJECT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("jinja_examples", PROJECT / "tools" / "jinja_page" / "examples.py")
assert SPEC is not None
assert SPEC.loader is not None
examples = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(examples)
_WORDS = {1: "one", 2: "two", 3: "three"}


def test_the_page_is_written_by_the_tool() -> None:
    tool = [sys.executable, str(PROJECT / "tools" / "jinja_page"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False, cwd=PROJECT)
    assert done.returncode == 0, done.stderr


def test_every_filter_test_and_function_has_an_example() -> None:
    engines = [environment(name) for name in ENVIRONMENTS]
    assert set(examples.FILTERS) == {name for engine in engines for name in engine.filters}
    named = {name for engine in engines for name in engine.tests if name.isidentifier()}
    assert set(examples.TESTS) == named
    assert set(examples.FUNCTIONS) == {name for engine in engines for name in engine.globals}


@pytest.mark.parametrize("kind", [str, list, dict])
def test_every_method_has_an_example(kind: type) -> None:
    assert set(examples.METHODS[kind.__name__]) == {name for name in dir(kind) if name[0] != "_"}


def test_what_the_evaluator_knows_has_an_example() -> None:
    assert set(filters._FILTERS) <= set(examples.FILTERS)
    assert set(filters._KINDS) | set(filters._TESTS) <= set(examples.TESTS)
    assert set(calls._METHODS) <= {name for methods in examples.METHODS.values() for name in methods}


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (
            "jinja",
            f"The first {_WORDS[run.CHECKED_FIRST]} rows of each program, and one in {run.CHECKED_ONE_IN:,} after",
        ),
        ("jinja", f"({bounds.STEPS:,} for a row"),
        ("jinja", f"({bounds.MAX_TEXT:,} characters, and"),
        ("jinja", f"({bounds.MAX_INT_BITS:,} bits)"),
        ("jinja", f"`range` ({bounds.MAX_RANGE:,})"),
        ("jinja", f"source ({bounded.MAX_SOURCE:,} characters)"),
        ("jinja", f"programs for {shape_programs.MAX_PROGRAMS:,} shapes"),
        ("jinja-compiled", f"more than {compilation.MAX_PROGRAMS} programs"),
        ("jinja-compiled", f"once {compilation.WORTHWHILE_ROWS} rows have had it"),
    ],
)
def test_limits_are_those_of_the_code(page: str, sentence: str) -> None:
    text = (PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert sentence in " ".join(text.split())
