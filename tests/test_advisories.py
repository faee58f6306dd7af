"""`make advisories`: versions as cargo compares them, licences as SPDX writes them, and what a fault looks like."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "advisories"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOL))
    spec = importlib.util.spec_from_file_location("advisories_tool", TOOL / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("licences", "versions"):
        monkeypatch.setitem(sys.modules, name, sys.modules[name])
    return module


@pytest.mark.parametrize(
    ("requirement", "inside", "outside"),
    [
        (">= 1.2.3", ["1.2.3", "2.0.0"], ["1.2.2", "1.2.3-beta"]),
        (">= 1.2, < 1.4", ["1.2.0", "1.3.9"], ["1.1.9", "1.4.0"]),
        ("^1.2.3", ["1.2.3", "1.9.0"], ["2.0.0", "1.2.2"]),
        ("0.3.4", ["0.3.4", "0.3.9"], ["0.4.0", "0.3.3"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4", "0.0.2"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0"]),
        ("~1", ["1.0.0", "1.9.0"], ["2.0.0"]),
        ("= 1.2.3", ["1.2.3"], ["1.2.4"]),
        ("< 0.12.0", ["0.11.9", "0.12.0-rc.1"], ["0.12.0"]),
        ("> 1.0.0", ["1.0.1"], ["1.0.0"]),
        ("<= 2", ["2.0.0", "1.5.0"], ["2.0.1"]),
        ("*", ["0.0.1"], []),
    ],
)
def test_versions(tool: ModuleType, requirement: str, inside: list[str], outside: list[str]) -> None:
    assert [tool.matches(requirement, version) for version in inside] == [True] * len(inside)
    assert [tool.matches(requirement, version) for version in outside] == [False] * len(outside)


def test_what_is_no_requirement(tool: ModuleType) -> None:
    with pytest.raises(ValueError, match="no requirement"):
        tool.matches("latest", "1.0.0")


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-2.0", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0 WITH Classpath-exception-2.0", False),
        ("", False),
    ],
)
def test_licences(tool: ModuleType, expression: str, allowed: bool) -> None:
    assert tool.is_allowed(expression) == allowed


def crate(name: str, version: str, terms: str = "MIT") -> dict[str, Any]:
    return {"name": name, "version": version, "license": terms}


def test_faults(tool: ModuleType) -> None:
    advisory = {
        "id": "RUSTSEC-1",
        "package": "one",
        "title": "It reads too far",
        "patched": [">= 1.2"],
        "unaffected": ["< 1.0"],
    }
    known = {"looked_up": ["one", "two"], "advisories": [advisory]}
    right = [crate("one", "1.2.0"), crate("two", "1.0.0")]
    assert tool.faults(right, known) == []
    assert tool.faults([crate("one", "0.9.0")], known) == []
    assert tool.faults([crate("one", "1.1.0")], known) == ["one 1.1.0: RUSTSEC-1: It reads too far; patched: >= 1.2"]
    assert tool.faults([crate("two", "1.0.0", "GPL-3.0-only")], known) == ["two 1.0.0: licence 'GPL-3.0-only'"]
    assert "not looked up yet" in tool.faults([crate("new", "1.0.0")], known)[0]
    assert tool.faults([*right, crate("two", "2.0.0")], known) == ["two: 2 versions: 1.0.0, 2.0.0"]


def test_the_kept_copy_is_one(tool: ModuleType) -> None:
    known = json.loads(tool.KNOWN.read_text(encoding="utf-8"))
    assert {one["package"] for one in known["advisories"]} <= set(known["looked_up"])
    for one in known["advisories"]:
        for requirement in [*one["patched"], *one["unaffected"]]:
            tool.matches(requirement, "1.0.0")
    assert set(tool.IGNORED) <= {one["id"] for one in known["advisories"]}
