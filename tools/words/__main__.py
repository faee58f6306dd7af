"""Looks for words that the project has given up: in names and docstrings of Python and Rust, and in the pages.

`python tools/words` goes over everything that is tracked and exits with 1 if it finds one; `python tools/words PATH...`
goes over some files or folders, and `--count` prints a number for each file instead of a line for each word.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lists import BEGINNINGS, NAMES, PARTS, PROSE, PUBLIC, PUBLIC_OF_FILES

ROOT = Path(__file__).resolve().parents[2]
_WORD = re.compile(r"[A-Za-z_]\w*")
_PROSE = re.compile(rf"\b({'|'.join(PROSE)})\b", re.IGNORECASE)
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_RUST_SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'', re.DOTALL
)
_RUST_DOC = re.compile(r"^[ \t]*//[/!] ?(.*)$", re.MULTILINE)

Finding = tuple[int, str]


def names_in_python(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Yield each name that a module defines, with its line and whether other modules or callers see it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.lineno, node.name, True
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg, True
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id, False
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr, False
        elif isinstance(node, ast.alias) and node.asname:
            yield 0, node.asname, False
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.lineno, node.name, False


def name_faults(line: int, name: str, *, is_seen: bool) -> Iterator[Finding]:
    """Yield what is wrong with a name."""
    bare = name.strip("_").lower()
    if name in PUBLIC:
        return
    if bare in NAMES:
        yield line, f"{name}: {NAMES[bare]}"
    elif is_seen and (parts := PARTS & set(bare.split("_"))):
        word = min(parts)
        yield line, f"{name}: {NAMES[word]}"


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module, with the line of each."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield getattr(node.body[0], "lineno", 1), text


def prose_faults(line: int, text: str) -> Iterator[Finding]:
    """Yield the given-up words of a text, without its code."""
    plain = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in _PROSE.finditer(plain):
        yield line + plain.count("\n", 0, match.start()), f"{match[0]!r} in a text: {PROSE[match[0].lower()]}"


def beginning_faults(line: int, text: str) -> Iterator[Finding]:
    """Yield a docstring's first word, if it can't begin a sentence or a noun phrase."""
    first = _WORD.match(text.lstrip())
    if first is not None and first[0].lower() in BEGINNINGS:
        yield line, f"a docstring begins with {first[0]!r}"


def python_faults(text: str, *, with_docstrings: bool) -> Iterator[Finding]:
    """Yield what is wrong in a Python module."""
    tree = ast.parse(text)
    for line, name, is_seen in names_in_python(tree):
        yield from name_faults(line, name, is_seen=is_seen)
    for line, docstring in docstrings(tree) if with_docstrings else ():
        yield from beginning_faults(line, docstring)
        yield from prose_faults(line, re.sub(r"(?m)^\s*(>>>|\.\.\.).*$", "", docstring))


def rust_faults(text: str) -> Iterator[Finding]:
    """Yield what is wrong in a Rust module."""
    code = _RUST_SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in _WORD.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield from name_faults(line, match[0], is_seen=False)
    last = -2
    for match in _RUST_DOC.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if line != last + 1:
            yield from beginning_faults(line, match[1])
        last = line
        yield from prose_faults(line, match[1])


def faults(path: Path) -> Iterator[Finding]:
    """Yield what is wrong in a file."""
    text = path.read_text(encoding="utf-8")
    relative = path.relative_to(ROOT)
    if path.suffix in {".py", ".pyi"}:
        yield from name_faults(0, path.stem, is_seen=True)
        stay = {name for file, name in PUBLIC_OF_FILES if file == relative.as_posix()}
        for line, fault in python_faults(text, with_docstrings=relative.parts[0] == "python"):
            if fault.partition(":")[0] not in stay:
                yield line, fault
    elif path.suffix == ".rs":
        yield from name_faults(0, path.stem, is_seen=True)
        yield from rust_faults(text)
    elif path.suffix == ".md":
        yield from prose_faults(1, text)


def tracked(paths: list[str]) -> Iterator[Path]:
    """Yield the tracked files that are looked through."""
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        is_left_out = name == "CHANGELOG.md" or name.endswith("README.zh-CN.md") or name.startswith("tools/words/")
        if path.suffix in {".py", ".pyi", ".rs", ".md"} and path.exists() and not is_left_out:
            yield path


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", help="files and folders; all of the project if there are none")
    parser.add_argument("--count", action="store_true", help="print a number for each file")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in tracked(arguments.paths):
        name = str(path.relative_to(ROOT))
        for line, message in sorted(set(faults(path))):
            counts[name] += 1
            if not arguments.count:
                print(f"{name}:{line}: {message}")
    for name, number in counts.most_common() if arguments.count else ():
        print(f"{number:5} {name}")
    print(f"{counts.total():,} given-up words in {len(counts)} files")
    return int(bool(counts))


if __name__ == "__main__":
    sys.exit(main())
