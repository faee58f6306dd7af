"""Makes small changes to the source, one at a time, and shows those that no test notices.

`python tools/mutants --rust 20 --python 20 --seed 1` draws them, each kind as often as another. A change is
made in a worktree of its own, `target/mutants/tree`, at the commit that is checked out: the checkout isn't touched.
There the tests that concern the file (`rooms.py`) run until one fails, which has to pass without the change; cargo's
run last. A survivor is shown as a diff: a test is missing, code is dead, or the change is none.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from changes import Change, python_changes, rust_changes
from rooms import tests_of

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "target" / "mutants" / "tree"
CORE = TREE / "python" / "promptpress" / "_core.abi3.so"
# As for `make test`, but quick to compile again after a change.
CARGO = {
    "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(TREE.parent / "cargo")),
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    "PYO3_PYTHON": sys.executable,
}
LANGUAGES = {"rust": ("src/**/*.rs", rust_changes), "python": ("python/*/**/*.py", python_changes)}
SECONDS = 900


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="mutants", description="Small changes that no test notices.")
    parser.add_argument("--rust", type=int, default=0, metavar="N", help="changes to src/")
    parser.add_argument("--python", type=int, default=0, metavar="N", help="changes to python/")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="of that draw these alone")
    parser.add_argument("--environments", type=Path, default=ROOT, help="folder of the virtual environments")
    arguments = parser.parse_args()
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    if not TREE.exists():
        git(ROOT, "worktree", "prune")
        git(ROOT, "worktree", "add", "--quiet", "--detach", str(TREE), commit)
    git(TREE, "reset", "--quiet", "--hard", commit)
    if not build():
        raise SystemExit("the core doesn't compile without a change")
    for language in LANGUAGES:
        left = getattr(arguments, language)
        for number, (path, change) in enumerate(drawn(language, arguments), 1):
            if left == 0:
                break
            outcome = "not looked at" if number not in (arguments.only or [number]) else tried(path, change, arguments)
            left -= outcome != "doesn't compile"
            text = path.read_text("latin-1")
            line = text.count("\n", 0, change.start) + 1
            print(f"{language} {number:3}  {path.relative_to(TREE)}:{line}  {change.operator}: {outcome}", flush=True)
            if outcome == "survived":
                lines = (version.encode("latin-1").decode().splitlines() for version in (text, change.of(text)))
                print("\n".join(f"    {line}" for line in difflib.unified_diff(*lines, n=2, lineterm="")), flush=True)
    return 0


def drawn(language: str, arguments: argparse.Namespace) -> Iterator[tuple[Path, Change]]:
    """Yield files and changes whose tests can run here, the operators in turn."""
    pattern, changes = LANGUAGES[language]
    by_kind: defaultdict[str, list[tuple[Path, Change]]] = defaultdict(list)
    for path in sorted(TREE.glob(pattern)):
        if all((arguments.environments / name).exists() for name, _ in tests_of(TREE, path)):
            for change in changes(path.read_text("latin-1")):
                by_kind[change.operator].append((path, change))
    rng = random.Random(arguments.seed)
    for of_operator in by_kind.values():
        rng.shuffle(of_operator)
    while any(by_kind.values()):
        for of_operator in by_kind.values():
            if of_operator:
                yield of_operator.pop()


def tried(path: Path, change: Change, arguments: argparse.Namespace) -> str:
    """Make a change, run the tests that concern it, take it back, and tell what came of it."""
    text, core = path.read_text("latin-1"), CORE.read_bytes()
    tests = tests_of(TREE, path)
    commands = [
        (str(arguments.environments / name / "bin" / "python"), "-m", "pytest", "-qx", *of) for name, of in tests
    ]
    try:
        path.write_text(change.of(text), "latin-1")
        if path.suffix == ".rs" and not build():
            return "doesn't compile"
        for command in commands:
            if failure := failed(*command, "--cache-clear"):
                break
        else:
            failure = failed("cargo", "test", "--locked", "--quiet") if path.suffix == ".rs" else ""
            return f"caught, {failure}" if failure else "survived"
    finally:
        path.write_text(text, "latin-1")
        CORE.unlink()
        CORE.write_bytes(core)
    if again := failed(*command, "--lf"):
        return f"undecided, without the change too: {again}"
    return f"caught, {failure}"


def failed(*command: str) -> str:
    """Run tests until one fails, and return its name, or nothing if none fails."""
    environment = {**os.environ, **CARGO, "PYTHONPATH": str(TREE / "python"), "CI": "1"}
    try:
        run = subprocess.run(
            command, cwd=TREE, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} seconds"
    if run.returncode == 0:
        return ""
    named = re.search(r"^(?:(?:FAILED|ERROR) |test (?=.*FAILED))(\S+)", run.stdout, re.MULTILINE)
    return named[1] if named else f"exit code {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}"


def build() -> bool:
    """Compile the core and put it into the package, if it compiles."""
    command = ["cargo", "build", "--lib", "--features", "python", "--locked", "--quiet"]
    run = subprocess.run(command, cwd=TREE, env={**os.environ, **CARGO}, capture_output=True, check=False)
    if run.returncode == 0:
        CORE.unlink(missing_ok=True)
        shutil.copy2(Path(CARGO["CARGO_TARGET_DIR"]) / "debug" / "libpromptpress.so", CORE)
    return run.returncode == 0


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main())
