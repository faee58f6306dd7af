"""The sources of the documentation site: what Sphinx reads is complete, and what it isn't asked to see is seen here."""

from __future__ import annotations

import importlib
import io
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest
import test_docs
from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.commands import COMMANDS
from test_public_surface import OF_TOOLS, PUBLIC

SITE = test_docs.PROJECT / "tools" / "docs_site"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(SITE), "--sources-only", "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "sources"


DOCS = test_docs.PROJECT / "docs"
MOST_WORDS = 35_000
"""The words of README.md and docs/ that people have to read, outside of design, benchmarks and what programs write."""


def tool(name: str) -> ModuleType:
    """A module of the tool, which is a folder of scripts and no package."""
    sys.path.insert(0, str(SITE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(SITE))


def help_of(command: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit):
        parse([command, "--help-all"])
    return out.getvalue()


def test_what_is_made_of_the_code_is_up_to_date() -> None:
    """`python tools/docs_site/reference.py` writes what is missing."""
    made = tool("reference").reference()
    assert set(made) >= {"commands.md", "errors.md", "audit.md", "notes.md", "export.md"}
    assert [name for name, text in made.items() if (DOCS / name).read_text(encoding="utf-8") != text] == []


def test_the_pages_stay_short() -> None:
    """`python tools/docs_site/reference.py --words` prints the words of each page."""
    assert sum(tool("reference").words().values()) <= MOST_WORDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_every_command_is_on_the_page(command: str, sources: Path) -> None:
    page = (sources / "commands.md").read_text(encoding="utf-8")
    section = page.split(f"\n## promptpress {command}\n")[1].split("\n## ")[0]
    assert set(test_docs.options(help_of(command))) <= set(test_docs.options(section))
    assert f"(#promptpress-{command})" in page


def test_every_page_is_reached(sources: Path) -> None:
    listed = set(re.findall(r"^(?:.* <)?([\w/.-]+)>?$", contents(sources), re.MULTILINE))
    there = {path.relative_to(sources).with_suffix("").as_posix() for path in sources.rglob("*.md")}
    assert there - {"index"} <= listed
    assert {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} <= there


def contents(sources: Path) -> str:
    return "\n".join(
        re.findall(r"```{toctree}\n(.*?)```", (sources / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    )


def links(sources: Path) -> Iterator[tuple[str, str]]:
    for page in sources.rglob("*.md"):
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            yield page.relative_to(sources).as_posix(), link


def test_links_stay_in_the_site_where_it_has_the_page(sources: Path) -> None:
    links_of_site = list(links(sources))
    assert ("index.md", "start.md") in links_of_site
    assert ("zh-CN.md", "start.md") in links_of_site
    assert (
        "start.md",
        "https://github.com/promptpress/promptpress/blob/main/examples/start/questions.csv",
    ) in links_of_site
    inside = [(page, link) for page, link in links_of_site if "://" not in link]
    assert [(page, link) for page, link in inside if not (sources / page).parent.joinpath(link).exists()] == []
    assert [(page, link) for page, link in links_of_site if re.search(r"/blob/main/(README|docs/)|/raw\.", link)] == []


def test_a_page_of_the_interface_for_each_public_module(sources: Path) -> None:
    pages = {path.stem for path in (sources / "api").glob("*.rst")}
    assert pages - {"index"} == {*PUBLIC, *OF_TOOLS}
    for module in (*PUBLIC, *OF_TOOLS):
        assert f".. automodule:: {module}\n" in (sources / "api" / f"{module}.rst").read_text(encoding="utf-8")


def test_public_names_that_the_site_lacks_are_reported(tmp_path: Path) -> None:
    names = [f"{module}.{name}" for module, names in PUBLIC.items() for name in names if not name.startswith("__")]
    entries = "".join(f"{name} py:class 1 api/page.html#$ -\n" for name in names if name != "promptpress.Renderer")
    (tmp_path / "objects.inv").write_bytes(b"#\n#\n#\n#\n" + zlib.compress(entries.encode()))
    assert tool("api").undocumented(tmp_path) == ["promptpress.Renderer"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<img src="https://host/a.png">'),
        ("a.html", '<script async src="//host/a.js"></script>'),
        ("a.html", '<link rel="preload stylesheet" href="http://host/a.css">'),
        ("a.html", "<style>p { background: url( 'https://host/a.png') }</style>"),
        ("a.html", '<p style="background:url(//host/a.png)">'),
        ("sub/a.css", '@import "https://host/a.css";'),
        ("a.svg", "<style>@font-face{src:url(https://host/a.woff)}</style>"),
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [line.partition(":")[0] for line in tool("self_contained").problems(tmp_path)] == [name]
