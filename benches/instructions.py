"""Instructions that a sample costs, counted by valgrind's callgrind on one thread.

python benches/instructions.py                                  the core that stands in python/
python benches/instructions.py --core NEW.so --against OLD.so   two cores, and their ratio

They hardly depend on the machine's load, which times do: a change of one percent shows. What they don't show is memory,
page faults and how many instructions a cycle takes. Figures of different texts can't be compared; texts.py says which
there are.

Python's start, the imports and whatever a render costs once are not counted: each workload is rendered in two
processes, which differ in nothing but the number of rows; what the one takes more is divided by the rows it has more.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workloads import Workload

WORKLOADS = ["zero", "five-text", "ppl", "five-messages", "turns", "chat", "mixed"]
FEWER, MORE = 8_192, 24_576  # rows: whole chunks of the row loop, and output that is mapped, not allocated
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


def chat() -> Workload:
    """Return a workload that no peer runs: a chat of list columns in which every turn is a request."""
    from workloads import CHAT_TEXT, PROBLEM_READER, Workload, conversations

    config = {
        "reader": PROBLEM_READER,
        "inferencer": {"type": "ChatInferencer", "infer_mode": "every_with_gt"},
        "meta_template": CHAT_TEXT,
        "output": "text",
    }
    return Workload(id="chat", about="two-turn chats of list columns", config=config, samples=conversations)


def write_work(workload_id: str, file: Path) -> None:
    """All that a counted process needs, so that it makes no samples of its own."""
    from workloads import BY_ID

    workloads = {**BY_ID, "chat": chat()}
    if workload_id not in workloads:
        sys.exit(f"there is no workload {workload_id!r}; there are {', '.join(workloads)}")
    workload = workloads[workload_id]
    config = {**workload.config, "examples": workload.examples and workload.examples()}
    file.write_bytes(pickle.dumps((config, workload.samples(MORE))))


def render(file: Path, rows: int) -> None:
    """The work of a counted process. What only a first render does is done in either of the two."""
    import promptpress

    promptpress.set_threads(1)
    config, samples = pickle.loads(file.read_bytes())
    renderer = promptpress.Renderer(**config)
    renderer.render(samples)
    renderer.render(samples.slice(0, rows))


def instructions(file: Path, rows: int, packages: Path) -> int:
    """Return the number of instructions of a whole process."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*valgrind, sys.executable, __file__, "--render", str(file), str(rows)]
    # One seed for the hashes of strings, and no threads of anybody else's.
    steady = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **steady, "PYTHONPATH": str(packages)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    match = re.search(r"Collected *: *(\d+)", done.stderr)
    if done.returncode or match is None:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return int(match.group(1))


def per_row(file: Path, packages: Path, runs: int) -> tuple[float, float]:
    """Instructions a row, and by how much the runs differ, as a part of that.

    Now and then a process takes more than it has to, waiting for a thread; so the least of all runs is taken.
    """
    more, fewer = ([instructions(file, rows, packages) for _ in range(runs)] for rows in (MORE, FEWER))
    least = min(more) - min(fewer)
    return least / (MORE - FEWER), (max(more) - min(more) + max(fewer) - min(fewer)) / least


def column(count_and_spread: tuple[float, float], runs: int) -> str:
    spread = f"+{count_and_spread[1]:5.2%}" if runs > 1 else ""
    return f"{count_and_spread[0]:12,.1f} {spread:7}"


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, help=f"default: {' '.join(WORKLOADS)}")
    whose = "a built library, or a folder with a package promptpress"
    parser.add_argument("--core", type=Path, default=SOURCES / "promptpress" / CORE, help=f"what is counted: {whose}")
    parser.add_argument("--against", type=Path, help=f"what it is compared with: {whose}")
    parser.add_argument("--runs", type=int, default=2, help="how often each is counted; the least counts")
    return parser.parse_args()


def main() -> None:
    from texts import real_texts

    given = arguments()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind isn't installed, and nothing else counts instructions here")
    cores = {"against": given.against, "core": given.core} if given.against else {"core": given.core}
    for name, core in cores.items():
        if not core.exists():
            sys.exit(f"--{name}: there is no {core}")
        print(f"{name}: {core}")
    print("real texts" if real_texts() else "generated texts")
    print(f"{'instructions':18}" + "".join(f"{name:>20}" for name in cores) + ("  ratio" if len(cores) > 1 else ""))
    with tempfile.TemporaryDirectory() as name:
        folders = [packages(core.resolve(), Path(name) / name_of_core) for name_of_core, core in cores.items()]
        for workload_id in given.workloads:
            file = Path(name) / "work"
            write_work(workload_id, file)
            counts = [per_row(file, folder, given.runs) for folder in folders]
            line = f"{workload_id:18}" + "".join(column(count, given.runs) for count in counts)
            print(line + (f"  {counts[1][0] / counts[0][0]:.3f}" if len(counts) > 1 else ""), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--render"]:
        render(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
