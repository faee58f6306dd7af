"""Writes what docs/ has from the code's own tables: the page of all commands, and the tables of codes.

    python tools/docs_site/reference.py [--check | --words]

docs/commands.md is made from the command's parsers. In other pages a table stands between `<!-- made: NAME -->` and
`<!-- /made -->`. With `--check` nothing is written: the exit code is 1 if a page isn't what the code gives. `--words`
prints how many words people have to read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from command_help import command_page
from promptpress._core import ERROR_CODES
from promptpress_workbench.audit.codes import CODES, NOTES
from promptpress_workbench.export.forms import EXPORTS

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
BLOCK = re.compile(r"(<!-- made: ([\w ]+) -->\n).*?(<!-- /made -->)", re.DOTALL)
MADE = re.compile(r"<!-- (?:made|compiled): .*?<!-- /(?:made|compiled) -->", re.DOTALL)
NOT_TO_READ = {"commands.md", "reliability.md", "benchmarks.md", "benchmarks-tables.md", "design.md"}
"""Pages that programs write, and those about the program's insides."""


def reference() -> dict[str, str]:
    """Return the texts of all pages that have something made by this program, by their names."""
    made = {"commands.md": command_page()}
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            made[path.name] = BLOCK.sub(lambda block: f"{block[1]}{table(block[2])}{block[3]}", text)
    return made


def table(name: str) -> str:
    """Return a table by its name; `findings FIRST LAST` are those from one code to another."""
    kind, *codes = name.split()
    if kind == "errors":
        return rows(("code", "meaning"), ERROR_CODES.items())
    if kind == "forms":
        lines = [form.row(name) for name, form in EXPORTS.items()]
        return "\n".join(["| form | what it is | for |", "|---|---|---|", *lines]) + "\n"
    if kind == "notes":
        return rows(("code", "meaning"), NOTES.items())
    names = list(CODES)
    chosen = names[names.index(codes[0]) : names.index(codes[-1]) + 1]
    cells = ((code, CODES[code].severity, CODES[code].meaning, CODES[code].remedy) for code in chosen)
    return rows(("code", "severity", "meaning", "what to do"), cells)


def rows(titles: tuple[str, ...], cells: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown whose first column is code."""
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    lines += [f"| `{code}` | {' | '.join(others)} |" for code, *others in cells]
    return "\n".join(lines) + "\n"


def words() -> dict[str, int]:
    """Return the number of words of README.md and of each page of docs/, outside what programs write."""
    pages = [PROJECT / "README.md", *(path for path in sorted(DOCS.glob("*.md")) if path.name not in NOT_TO_READ)]
    return {path.name: len(MADE.sub("", path.read_text(encoding="utf-8")).split()) for path in pages}


def main() -> int:
    """Write the pages, compare them, or count their words."""
    if "--words" in sys.argv:
        counts = words()
        print(*(f"{count:6,} {name}" for name, count in counts.items()), f"{sum(counts.values()):6,} in all", sep="\n")
        return 0
    stale = []
    for name, text in reference().items():
        path = DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"not what the code gives: {', '.join(stale)}; run python {sys.argv[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
