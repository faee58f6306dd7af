"""The package's metadata, and README as it is read elsewhere: on PyPI a link has to be a whole address."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import test_docs
from parts.run_with import TRANSFORMERS, first_unknown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = test_docs.PROJECT
LINK = re.compile(r"\]\(([^)\s]+)\)")
READMES = [PROJECT / "README.md", PROJECT / "README.zh-CN.md"]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def crate() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))


def local(link: str, repository: str) -> str | None:
    """The file of this tree that an address stands for."""
    raw = repository.replace("//github.com/", "//raw.githubusercontent.com/")
    for prefix in (f"{repository}/blob/main/", f"{repository}/tree/main/", f"{raw}/main/"):
        if link.startswith(prefix):
            return link.removeprefix(prefix).partition("#")[0]
    return None


def test_links_of_readme_hold_on_pypi_too(project: dict[str, Any]) -> None:
    links = LINK.findall((PROJECT / "README.md").read_text(encoding="utf-8"))
    files = {link: local(link, project["urls"]["Repository"]) for link in links}
    assert len(files) > 10
    assert [link for link, file in files.items() if file is None] == []
    assert [link for link, file in files.items() if not (PROJECT / str(file)).exists()] == []


def test_pictures_come_as_files_and_pages_as_pages() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert len(pictures) == 2
    for link in LINK.findall(text):
        assert link.startswith("https://raw.") == (link in pictures)


def test_what_points_into_the_repository_is_there(project: dict[str, Any], crate: dict[str, Any]) -> None:
    urls = project["urls"]
    assert crate["package"]["repository"] == urls["Repository"]
    for name in ("Documentation", "Changelog"):
        assert (PROJECT / str(local(urls[name], urls["Repository"]))).exists()


def minor_versions(project: dict[str, Any]) -> Iterator[int]:
    for classifier in project["classifiers"]:
        if match := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", classifier):
            yield int(match[1])


def test_all_files_name_the_same_versions_of_python(project: dict[str, Any], crate: dict[str, Any]) -> None:
    versions = list(minor_versions(project))
    assert versions == list(range(10, 15))
    assert project["requires-python"] == f">=3.{versions[0]}"
    assert f"abi3-py3{versions[0]}" in crate["dependencies"]["pyo3"]["features"]
    workflow = (PROJECT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    assert re.findall(r"^            (3\.\d+)$", workflow, re.MULTILINE) == [f"3.{version}" for version in versions]


def test_both_lists_build_with_the_same_maturin() -> None:
    pins = [
        re.findall(r"^maturin==(.*)$", (PROJECT / "requirements" / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in ("build.txt", "wheel.txt")
    ]
    workflow = (PROJECT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    assert pins[0] == pins[1] == re.findall(r'^  MATURIN: "(.*)"$', workflow, re.MULTILINE)


@pytest.mark.parametrize("name", ["jinja", "engines", "exports"])
def test_the_pinned_release_of_transformers_is_one_of_those_run_with(name: str) -> None:
    pins = (PROJECT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    release, *_of_older_pythons = re.findall(r"^transformers==([\d.]+)", pins, re.MULTILINE)
    assert first_unknown(release) is None, first_unknown(release)
    series = " and ".join(release.rpartition(".")[0] for release in TRANSFORMERS)
    assert f"transformers {series}" in (PROJECT / "docs" / "fidelity.md").read_text(encoding="utf-8")


def test_pictures_are_what_would_be_drawn() -> None:
    command = [sys.executable, str(PROJECT / "tools" / "readme_pictures.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pictures_load_nothing_and_run_nothing() -> None:
    for name in ("prompt.svg", "leak.svg", "trained.svg"):
        text = (PROJECT / "docs" / name).read_text(encoding="utf-8")
        assert not re.search(r"href|url\(|@import|@font-face|<script|<image|<foreignObject", text), name
        assert "prefers-color-scheme:dark" in text


def test_the_chinese_readme_shows_the_same() -> None:
    english, chinese = ([(block.language, block.code) for block in test_docs.blocks(page)] for page in READMES)
    assert english == chinese
    assert len(READMES[0].read_text(encoding="utf-8").split()) <= 900
    levels, levels_zh = (re.findall(r"^(#+) ", page.read_text(encoding="utf-8"), re.MULTILINE) for page in READMES)
    assert levels == levels_zh
    rows, rows_zh = (page.read_text(encoding="utf-8").count("\n| ") for page in READMES)
    assert rows == rows_zh


def test_the_chinese_readme_links_to_the_same(project: dict[str, Any]) -> None:
    english, chinese = (set(LINK.findall(page.read_text(encoding="utf-8"))) for page in READMES)
    files = {local(link, project["urls"]["Repository"]) for link in english}
    assert chinese - {"README.md"} == files - {"README.zh-CN.md"}
