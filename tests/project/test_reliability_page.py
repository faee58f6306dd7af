"""docs/reliability.md is what its tool writes: the same headings, tables and sentences around other figures."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FIGURE = re.compile(r"\d[\d,.]*")
RUN = {"count": 10, "counted": "inputs", "seconds": 1, "failures": {}}
RESULTS: dict[str, Any] = {
    "quick": False,
    "machine": "Linux x86_64, 2 cores, Python 3.11.7",
    "fuzzed": [{"kind": "prompts", **RUN}, {"kind": "arrow", "valgrind": True, **RUN}, {"kind": "core: jinja", **RUN}],
    "memory": {"render": {"1": 1 << 20, "1000": 2 << 20, "1000000": 3 << 20}},
    "agreement": {"threads": 8, "renderers": 2, "renders": 4_000, "rows": 5, "different": []},
    "faults": {"tried": {"kill -9": 100}, "failed tests": 0},
    "advisories": {"date": "2026-01-02", "passed": True},
}


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "tools" / "reliability"))
    monkeypatch.delitem(sys.modules, "page", raising=False)
    import page

    monkeypatch.setitem(sys.modules, "page", page)
    return page


def shape(text: str) -> list[str]:
    """Headings, and of tables the heads and what each row is about."""
    lines = text.splitlines()
    heads = [line for line in lines if line.startswith("#")]
    inputs = text.partition("## Inputs")[2].partition("\n## ")[0]
    return heads + [line.split(" | ")[0] for line in inputs.splitlines() if line.startswith("|")]


def test_the_page_is_what_the_tool_writes(page: ModuleType) -> None:
    text = (PROJECT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert shape(text) == shape(page.written(RESULTS))
    sentences = lambda text: FIGURE.sub("N", text.partition("## Unsafe code")[2])  # noqa: E731
    assert sentences(text).split() == sentences(page.written(RESULTS)).split()


def test_the_page_names_what_was_not_run(page: ModuleType) -> None:
    text = page.written({**RESULTS, "fuzzed": [], "faults": None, "memory": {}})
    assert text.count("not run for this page") == len(page.KINDS) + len(page.VERBS) + 1
    assert "0 inputs of this run" in text


def test_failures_are_shown(page: ModuleType) -> None:
    text = page.written({**RESULTS, "fuzzed": [{"kind": "cells", **RUN, "failures": {"a panic": 3}}]})
    assert "| 10 inputs | 3 | 1 | `make fuzz-differential N=...` |" in text


def test_each_kind_of_fuzzing_is_on_the_page(page: ModuleType) -> None:
    from fuzz import core, kinds
    from soak import growth

    assert {*kinds.KINDS} | {f"core: {target}" for target in core.TARGETS} <= {*page.KINDS}
    assert {*growth.verbs()} <= {*page.VERBS}


def test_unsafe_code_is_where_the_page_says(page: ModuleType) -> None:
    files = {
        path.relative_to(PROJECT).as_posix()
        for path in (PROJECT / "src").rglob("*.rs")
        if re.search(r"\bunsafe\b(?! code)", path.read_text(encoding="utf-8"))
    }
    assert set(re.findall(r"`(src/[\w/]+\.rs)`", page.written(RESULTS))) == files
