"""Public modules for other packages, in a process in which those packages aren't installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = (
    "import sys\nfor name in ('polars', 'duckdb', 'datasets', 'transformers'): sys.modules[name] = None\n"
    "import promptpress as pp\nfrom promptpress import datasets, duckdb, polars, transformers\n"
)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("transformers.enable()", 'transformers isn\'t installed: pip install "promptpress[transformers]"'),
        ("transformers.backend()", 'transformers isn\'t installed: pip install "promptpress[transformers]"'),
        (
            "transformers.apply_chat_template(None, [])",
            'transformers isn\'t installed: pip install "promptpress[transformers]"',
        ),
        (
            "class C: create_function = None\nduckdb.register(C(), 'f', '{q}')",
            'DuckDB isn\'t installed: pip install "promptpress[duckdb]"',
        ),
        (
            "polars.PromptExpressions(None).render('{q}')",
            'Polars isn\'t installed: pip install "promptpress[polars]"',
        ),
    ],
)
def test_what_is_absent_is_named(code: str, message: str) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"ImportError: {message}"


def test_modules_are_there_and_can_be_switched_off() -> None:
    code = WITHOUT + "transformers.disable(); print(*(name for name in pp.__all__ if name in dir(pp)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout


def test_renderers_are_seen_without_these_packages() -> None:
    code = (
        WITHOUT.partition("from")[0] + "samples = {'q': ['1', '2']}\na, b = pp.Renderer('{q}'), pp.Renderer('{q}!')\n"
        "exec('from promptpress import *', {})\n"
        "print(len(pp.diff(a, b, samples)), len(a.preview(samples)), len(a.explain(samples, 0)), len(a.audit(samples)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2 2 1 0\n", done.stderr
