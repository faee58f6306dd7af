"""Instructions that a row costs, counted by valgrind's callgrind on one thread, for all workloads of the benches.

python benches/instructions.py [WORKLOADS]                      the core that stands in python/
python benches/instructions.py --core NEW.so --against OLD.so   two cores, and their ratio
python benches/instructions.py --check                          beside the kept figures: more than 3 % worse fails
python benches/instructions.py --write                          figures to keep, into instructions.json

They hardly depend on the machine's load, which times do: a change of one percent shows. What they don't show is memory,
page faults and how many instructions a cycle takes. Texts are always the generated ones of texts.py, because figures of
different texts can't be compared.

Python's start, the imports and whatever a call costs once are not counted: after a first call, each workload is called
with fewer and with more rows, and the difference is divided by the rows that the one has more. Half of the workloads
are counted in each of two processes, side by side.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import callgrind
import kept_counts

if TYPE_CHECKING:
    from counted import Counted

# Before the texts are made: it is where real ones would be looked for.
os.environ["PROMPTPRESS_SHARED"] = os.devnull

ROUNDS = 3  # calls of each number of rows: now and then one takes more than it has to, so the least counts
PROCESSES = 2
TRIES = 3  # processes in which a workload takes more than its kept figure before that counts
SOURCES = Path(__file__).resolve().parents[1] / "python"
CORE = "_core.abi3.so"


def packages(core: Path, folder: Path) -> Path:
    """Return the folder for PYTHONPATH: a folder with a whole package stays; a library is put next to our sources."""
    if core.is_dir():
        return core
    shutil.copytree(
        SOURCES / "promptpress", folder / "promptpress", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    shutil.copy(core, folder / "promptpress" / CORE)
    return folder


def count_all(folder: Path) -> None:
    """The work of a counted process, whose workloads are files in the folder.

    All of them are prepared and called once before the first is counted: valgrind makes its own copy of all code when
    counting begins.
    """
    import promptpress
    from counted import call_of

    promptpress.set_threads(1)
    gc.disable()
    calls = {}
    for file in sorted(folder.glob("*.work")):
        work = pickle.loads(file.read_bytes())
        calls[file] = call_of(work)
        calls[file](work["samples"])
    counter = callgrind.Counter()
    with counter.counting():
        for file, call in calls.items():
            work = pickle.loads(file.read_bytes())
            for number in range(ROUNDS):
                for rows in work["rows"]:
                    part = work["samples"].slice(0, rows)
                    counter.count(f"{number} {rows} {work['name']}", lambda: call(part))  # noqa: B023 - called at once


def per_row(workloads: dict[str, Counted], core: Path) -> dict[str, float]:
    """Return the instructions a row of each workload."""
    with tempfile.TemporaryDirectory() as name:
        package = packages(core, Path(name) / "packages")
        folders = [Path(name) / str(number) for number in range(PROCESSES)]
        for folder in folders:
            folder.mkdir()
        for number, (workload, counted) in enumerate(workloads.items()):
            file = folders[number % PROCESSES] / f"{number:03}.work"
            file.write_bytes(pickle.dumps({"name": workload, **counted.as_data()}))
        running = [callgrind.start(folder, package, Path(__file__), "--count", str(folder)) for folder in folders]
        for process in running:
            output = process.communicate()[0]
            if process.returncode:
                sys.exit(f"a counted process ended with {process.returncode}:\n{output}")
        counts = {name: count for folder in folders for name, count in callgrind.counts(folder).items()}

    def least(workload: str, rows: int) -> int:
        return min(counts[f"{number} {rows} {workload}"] for number in range(ROUNDS))

    return {
        workload: (least(workload, counted.rows[1]) - least(workload, counted.rows[0]))
        / (counted.rows[1] - counted.rows[0])
        for workload, counted in workloads.items()
    }


def library(core: Path) -> Path:
    """Return the library of what is counted, which may be a folder with a whole package."""
    return core / "promptpress" / CORE if core.is_dir() else core


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", help="names as the output has them; default: all")
    whose = "a built library, or a folder with a package promptpress"
    parser.add_argument("--core", type=Path, default=SOURCES / "promptpress" / CORE, help=f"what is counted: {whose}")
    parser.add_argument("--against", type=Path, help=f"what it is compared with: {whose}")
    parser.add_argument("--check", action="store_true", help="compare with the kept figures: exit code 1 if worse")
    parser.add_argument("--write", action="store_true", help="keep the figures found")
    return parser.parse_args()


def why_not() -> str | None:
    """Return the reason if nothing can be counted here."""
    if shutil.which("valgrind") is None:
        return "valgrind isn't installed (Debian: apt-get install valgrind)"
    if platform.machine() != callgrind.PROCESSOR:
        return f"calls are counted on {callgrind.PROCESSOR} only, and this is {platform.machine()}"
    return None


def main() -> None:
    given = arguments()
    cores = [core.resolve() for core in (given.against, given.core) if core]
    if missing := [core for core in cores if not core.exists()]:
        sys.exit(f"there is no {missing[0]}")
    reason = why_not()
    if reason is None and given.check:
        reason = "; ".join(
            kept_counts.differences(kept_counts.read()["counted_with"], kept_counts.circumstances(library(cores[-1])))
        )
    if reason:
        print(f"not compared: {reason}" if given.check else reason)
        sys.exit(not given.check)

    from counted import counted

    workloads = counted()
    if unknown := [name for name in given.workloads if name not in workloads]:
        sys.exit(f"there is no workload {unknown[0]!r}; there are {', '.join(workloads)}")
    chosen = {name: workloads[name]() for name in given.workloads or workloads}
    figures = [per_row(chosen, core) for core in cores]
    print(f"{'instructions a row':22}" + (f"{'against':>12}{'core':>12}{'ratio':>8}" if given.against else ""))
    for name in chosen:
        ratio = f"{figures[1][name] / figures[0][name]:8.3f}" if given.against else ""
        print(f"{name:22}" + "".join(f"{of_core[name]:12,.1f}" for of_core in figures) + ratio)
    if given.write:
        kept = kept_counts.read()["instructions_a_row"] if given.workloads else {}
        kept_counts.write(kept_counts.circumstances(library(cores[-1])), {**kept, **figures[-1]})
    if given.check:
        kept = kept_counts.read()["instructions_a_row"]
        if given.workloads:
            kept = {name: kept[name] for name in kept if name in chosen}
        counts = figures[-1]
        for _ in range(TRIES - 1):
            # A process may take more than it has to, and the next one doesn't; a regression stays.
            again = {name: chosen[name] for name in kept_counts.differing(kept, counts, 1)}
            if again:
                second = per_row(again, cores[-1])
                counts = {name: min(count, second.get(name, count)) for name, count in counts.items()}
        comparison = kept_counts.compare(kept, counts)
        print(f"\n{comparison.text()}")
        sys.exit(not comparison.passes)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        count_all(Path(sys.argv[2]))
    else:
        main()
