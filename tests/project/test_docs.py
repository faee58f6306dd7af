"""Runs what the documents show, so that it is true.

Python blocks of a file run in order, in one namespace and one folder, which holds the examples as the project does.
The pages in `IN_START` run in examples/start. A `text` block right after a block is what that block prints. `py`
blocks are lines of a program in examples/, whose own tests run it: it needs what isn't always there. Shell blocks run
where they use the command, and beside the harness (tests/real/harness/test_recipes.py) where they need one; of the
others it is checked that they only install or make what there is. A `yaml` block right after the name of a file in
examples/start is that file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.json
import pyarrow.parquet as pq
import pytest
import warm
from marks import UNWARNED
from promptpress_harness.registry import HARNESSES
from promptpress_workbench.cli.commands import COMMANDS

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / name for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md")] + sorted(
    (PROJECT / "docs").rglob("*.md")
)
PROGRAMS = [path.read_text(encoding="utf-8") for path in sorted((PROJECT / "examples").rglob("*.py"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
START = PROJECT / "examples" / "start"
NAMED_YAML = re.compile(r"`(\w+\.yaml)`[^`]*\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    code: str
    printed: str | None

    @property
    def page_and_line(self) -> str:
        return f"{self.page.relative_to(PROJECT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    matches = list(FENCE.finditer(text))
    out = []
    for n, match in enumerate(matches):
        after = matches[n + 1] if n + 1 < len(matches) else None
        follows = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        line = text.count("\n", 0, match.start()) + 2
        out.append(Block(page, line, match[1], match[2], after[2] if after is not None and follows else None))
    return out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, as the project's own, and with the files that docs/command.md names."""
    shutil.copytree(PROJECT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    for name, source in [("gsm8k.py", "sums.py"), ("qwen.py", "chat_model.py"), ("test.jsonl", "test.jsonl")]:
        shutil.copy(PROJECT / "examples" / source, tmp_path / name)
    for name, source in [("train", "train"), ("test", "test"), ("qa", "test")]:
        pq.write_table(pyarrow.json.read_json(PROJECT / "examples" / f"{source}.jsonl"), tmp_path / f"{name}.parquet")
    shutil.copytree(START, tmp_path, dirs_exist_ok=True)
    (tmp_path / "mmlu.yaml").write_text('prompt_template: "Q: {question}"\n', encoding="utf-8")
    (tmp_path / "qa.json").write_text('{"prompt_template": "Q: {question}"}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


IN_START = ("README.md", "README.zh-CN.md", "recipes.md", "start.md", "sources.md")
"""Pages that say that their files are in examples/start."""

NEEDED = {"integrations.md": ("polars", "duckdb", "datasets"), "recipes.md": ("datasets", "tokenizers")}
"""Packages that the blocks of a page need, which aren't promptpress's own."""

# What is odd and kept is shown where it is listed.
PAGE_PARAMETERS = [pytest.param(page, marks=UNWARNED if page.name == "fidelity.md" else ()) for page in PAGES]


@pytest.mark.parametrize("page", PAGE_PARAMETERS, ids=[page.name for page in PAGES])
def test_blocks(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDED.get(page.name, ()):
        pytest.importorskip(package)
    if page.name in IN_START:
        folder = folder / "examples" / "start"
        monkeypatch.chdir(folder)
    namespace: dict[str, object] = {"__name__": "docs"}
    for block in blocks(page):
        if block.language == "python":
            printed = python(block, namespace)
        elif block.language == "sh":
            if needs_a_harness(block):
                continue
            printed = shell(block, folder)
        elif block.language == "py":
            assert any(block.code in program for program in PROGRAMS), (
                f"{block.page_and_line}: no program has these lines"
            )
            continue
        elif block.language == "mermaid":
            continue  # drawn from the source, which `make house` checks
        else:
            assert block.language in ("text", "json", "toml", "yaml"), (
                f"{block.page_and_line}: nobody runs {block.language!r}"
            )
            continue
        if block.printed is not None:
            assert printed == block.printed, f"{block.page_and_line} prints otherwise"


def python(block: Block, namespace: dict[str, object]) -> str:
    # Lines as in the file, so that a traceback names the right one.
    code = compile("\n" * (block.line - 1) + block.code, str(block.page), "exec", dont_inherit=True)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, namespace)
    return out.getvalue()


def needs_a_harness(block: Block) -> bool:
    """Return true if a block lets the harness render, and doesn't only name its options."""
    return block.language == "sh" and block.code.startswith("promptpress verify ") and "FILE..." not in block.code


def shell(block: Block, folder: Path) -> str | None:
    if "FILE..." in block.code:
        assert set(options(block.code)) <= set(known_options()), block.page_and_line
        return None
    if "promptpress " not in block.code:
        for line in filter(None, block.code.splitlines()):
            check_command(line.partition("#")[0].split(), block)
        return None
    command = f'promptpress() {{ {shlex.join(warm.command())} "$@"; }}\n{block.code}'
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    last = block.code.rstrip().rpartition("\n")[2]
    codes = (0, 1) if last.startswith("promptpress diff ") else (0,)  # 1 says that something differs
    assert done.returncode in codes, f"{block.page_and_line}: {done.stderr}"
    return done.stdout


def check_command(words: list[str], block: Block) -> None:
    """A line that isn't run here has to name what there is."""
    if words[0] == "make":
        makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
        targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
        assert targets is not None
        wanted = [word for word in words[1:] if "=" not in word]
        assert set(wanted) <= set(targets[1].split()), f"{block.page_and_line}: no such target"
    elif words[0].endswith(("python", "pytest")):
        files = [word for word in words if word.endswith(".py")]
        assert all((PROJECT / file).exists() for file in files), f"{block.page_and_line}: no such file"
    elif words[0].startswith("PROMPTPRESS_BACKEND="):
        assert words[0].partition("=")[2] in HARNESSES, f"{block.page_and_line}: no such backend"
    elif words[0] == "promptpress-run":
        assert "promptpress-run = " in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    else:
        assert words[0] in ("pip", "cargo", ".ci/run"), f"{block.page_and_line}: nobody checks {words[0]!r}"


def options(text: str) -> Iterator[str]:
    return (match[0] for match in re.finditer(r"(?<![\w-])--[a-z][a-z-]*", text))


def known_options(commands: Iterable[str] = COMMANDS) -> Iterator[str]:
    for command in commands:
        parser = argparse.ArgumentParser(add_help=False)
        COMMANDS[command].add_options(parser)
        yield from parser._option_string_actions
    yield from ("--version", "--help", "--help-all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_shows_are_in_examples(page: Path) -> None:
    named = NAMED_YAML.findall(page.read_text(encoding="utf-8"))
    assert named or page.name != "start.md"
    for name, text in named:
        assert (START / name).read_text(encoding="utf-8") == text, f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name}: there is no {link}"


def test_options_that_the_page_of_the_command_names() -> None:
    # Every option of every command is in docs/commands.md: tests/project/test_docs_site.py.
    page = (PROJECT / "docs" / "command.md").read_text(encoding="utf-8")
    assert set(options(page)) <= set(known_options())


FILE = re.compile(r"`([\w./-]+\.(?:rs|py)|(?:src|python|tests|tools|benches)/[\w./-]*)`")
ROOTS = ["", "python", "src", "src/render", "python/promptpress", "tests", "src/plan", "src/python_text"]
TYPE = re.compile(r"`([A-Z][A-Za-z]+)(?:::(\w+))?`")


DESIGN = sorted((PROJECT / "docs" / "design").glob("*.md"))


@pytest.mark.parametrize("pages", [[PROJECT / "CONTRIBUTING.md"], DESIGN], ids=["CONTRIBUTING.md", "design"])
def test_files_that_are_named_are_there(pages: list[Path]) -> None:
    named = {name for page in pages for name in FILE.findall(page.read_text(encoding="utf-8"))}
    sources = {path.name for root in ("src", "python") for path in (PROJECT / root).rglob("*.*")}
    there = lambda path: path in sources or any((PROJECT / root / path).exists() for root in ROOTS)  # noqa: E731
    assert len(named) > 10
    assert sorted(path for path in named if not there(path)) == []


def test_types_that_the_design_names_are_there() -> None:
    files = [*(PROJECT / "src").rglob("*.rs"), *(PROJECT / "python").rglob("*.py")]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    text = "\n".join(page.read_text(encoding="utf-8") for page in DESIGN)
    missing = [
        f"{owner}::{member}" if member else owner
        for owner, member in sorted(set(TYPE.findall(text)))
        if not re.search(rf"\b{member or owner}\b", sources)
    ]
    assert missing == []
