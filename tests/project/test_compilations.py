"""Compilations by cargo: each crate once for the package and its tests, and the core once for each of the two."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
import test_docs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = test_docs.PROJECT


@pytest.fixture(scope="module")
def crate() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))


def compiled(*arguments: str) -> set[str]:
    """Return the crates that cargo compiles besides the core, each with its version and features."""
    command = ["cargo", "tree", "--locked", "--quiet", "--prefix", "none", "--format", "{p} {f}", *arguments]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    crates = {line.removesuffix("(*)").strip() for line in done.stdout.splitlines()}
    return {name for name in crates if name and not name.startswith("promptpress ")}


def test_the_cores_tests_take_the_crates_of_the_package() -> None:
    package = compiled("--edges", "normal,build", "--features", "python")
    assert len(package) > 50
    assert sorted(compiled("--edges", "normal,build,dev") - package) == [], "other features: compiled a second time"


def test_the_profiles_differ_for_the_core_alone(crate: dict[str, Any]) -> None:
    # `test` inherits from `dev`.
    assert crate["profile"]["test"].keys() == {"package"}
    assert crate["profile"]["test"]["package"].keys() == {crate["package"]["name"]}


def test_the_cores_tests_are_one_program(crate: dict[str, Any]) -> None:
    # A program of its own, and the examples in comments, would need a library beside the program of the tests.
    assert not crate["lib"]["doctest"]
    assert not {"test", "bench", "example", "bin"} & crate.keys()
    assert not [path for folder in ("tests", "benches", "examples") for path in (PROJECT / folder).glob("*.rs")]
    assert not (PROJECT / "src" / "main.rs").exists()


def test_the_makefile_builds_and_tests_in_these_profiles() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^CARGO_TEST := (.*)$", makefile, re.MULTILINE) == ["cargo test --locked"]
    assert re.findall(r"maturin develop (.*)$", makefile, re.MULTILINE) == ["--profile dev --locked"]
