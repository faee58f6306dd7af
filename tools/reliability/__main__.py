"""`python tools/reliability`: tries what docs/reliability.md tells of, and writes that page from what it measured.

Long runs can be made in parts: `--parts FILE` has what was measured before (an object with some of the keys of what
`--json` keeps), and only the rest is tried. `--quick` takes a few minutes, and prints the page instead. What can't be
run here is said on the page to be so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests"))

from fuzz.kinds import KINDS  # noqa: E402 - in the folder that is named above
from page import written  # noqa: E402

PAGE = PROJECT / "docs" / "reliability.md"
SHORT = {"valgrind": 6, "core": 10, "calls": 10_000}
FULL = {"valgrind": 200, "core": 120, "calls": 1_000_000}
"""Numbers of cases besides those of `fuzz.kinds`."""
SLOWER = {"audit": 50}
"""Verbs that are called so many times less often: each call takes as much longer."""
FAULT_TESTS = ("tests/cli/test_resume.py", "tests/cli/test_killed_runs.py")


def run(command: list[str], **more: str) -> int:
    """Run a command beside this one's output; its exit code."""
    print("+", " ".join(command), flush=True)
    paths = os.pathsep.join(
        [str(PROJECT / "python"), str(PROJECT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    return subprocess.run(command, cwd=PROJECT, env={**os.environ, "PYTHONPATH": paths, **more}, check=False).returncode


def fuzzed(python: str, sizes: dict[str, int], out: Path, *, quick: bool) -> list[dict[str, Any]]:
    """Run all kinds of fuzzing, one after the other."""
    for name, kind in KINDS.items():
        count = kind.quick if quick else kind.full
        run([python, "-m", "fuzz", name, "--requests", str(count), "--json", str(out)])
    run([python, "-m", "fuzz", "arrow", "--valgrind", "--requests", str(sizes["valgrind"]), "--json", str(out)])
    run([python, "-m", "fuzz.core", "--seconds", str(sizes["core"]), "--json", str(out)])
    return json.loads(out.read_text()) if out.exists() else []


def advisories() -> dict[str, Any]:
    """Check the crates, and return the date of the advisories and whether the check passed."""
    passed = run(["make", "advisories"]) == 0
    with tarfile.open(PROJECT / "tools" / "advisory-db.tar.gz") as archive:
        date = datetime.fromtimestamp(archive.getmember("crates").mtime, timezone.utc).date()
    return {"date": str(date), "passed": passed}


def memory(calls: int) -> dict[str, dict[str, int]]:
    """Resident bytes by verb and by number of calls."""
    sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "python")]
    from soak import growth  # noqa: PLC0415 - its folder is named here

    growths = {}
    for verb in growth.verbs():
        path = os.pathsep.join(sys.path[:2])
        count = max(10_000, calls // SLOWER.get(verb, 1))
        command = [sys.executable, "-m", "soak.growth", verb, "1", "1000", str(count)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False
        )
        if done.returncode == 0:
            growths[verb] = json.loads(done.stdout)
            print(f"{verb}: {growths[verb]}", flush=True)
        else:
            print(f"{verb}: {done.stderr[-500:]}", file=sys.stderr)
    return growths


def agreement(quick: bool) -> dict[str, Any]:
    """Threads beside one thread."""
    from soak import agreement as threads_against_one  # noqa: PLC0415 - as above

    return asdict(
        threads_against_one.compare(seed=3, renderers=20 if quick else 100, threads=8, each=50 if quick else 5_000)
    )


def machine() -> str:
    """Return a description of the machine that the figures were measured on."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def faults(folder: Path) -> dict[str, Any] | None:
    """Return what the tests of interrupted runs tried, if there are such tests."""
    here = [name for name in FAULT_TESTS if (PROJECT / name).exists()]
    out = folder / "faults.json"
    if here and (PROJECT / "tests" / "faults.py").exists():
        run([sys.executable, "-m", "pytest", "-q", *here, "-m", "full or not full", "--faults-json", str(out)])
    return json.loads(out.read_text()) if out.exists() else None


def main(argv: list[str] | None = None) -> int:
    """Try it all; 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python tools/reliability", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a sample of each, printed")
    parser.add_argument("--harness", default=sys.executable, help="the Python that has the harnesses, for fuzzing")
    parser.add_argument("--json", type=Path, help="keep what was measured here")
    parser.add_argument("--parts", type=Path, help="what was measured before, at this commit")
    options = parser.parse_args(argv)
    results: dict[str, Any] = {"quick": options.quick, "machine": machine()}
    if options.parts is not None:
        results |= json.loads(options.parts.read_text())
    sizes = SHORT if options.quick else FULL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tried = {
            "advisories": advisories,
            "fuzzed": lambda: fuzzed(options.harness, sizes, folder / "fuzzed.json", quick=options.quick),
            "memory": lambda: memory(sizes["calls"]),
            "agreement": lambda: agreement(options.quick),
            "faults": lambda: faults(folder),
        }
        for part, measure in tried.items():
            if part not in results:
                results[part] = measure()
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    text = written(results)
    if options.quick:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    failed = any(run["failures"] for run in results["fuzzed"]) or results["agreement"]["different"]
    return int(bool(failed or not results["advisories"]["passed"]))


if __name__ == "__main__":
    sys.exit(main())
