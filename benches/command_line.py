"""OpenCompass's own command line with the backend off and on: how long its inference tasks take.

    .venv-harness/bin/python benches/command_line.py [--count 20000] [--workers 2]

Five examples a prompt, a model that answers at once, and OpenCompass's default partitioner, which splits the dataset.
The files with predictions have to be the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.command_line import opencompass


def main() -> None:
    """Run both, compare their files, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="how many samples (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="--max-num-workers (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        off, on = (
            opencompass(
                Path(folder) / name, "--max-num-workers", str(options.workers), on=name == "on", count=options.count
            )
            for name in ("off", "on")
        )
        if on.predictions != off.predictions or not off.predictions:
            raise SystemExit("the files with predictions differ")
        for name, run in (("off", off), ("on", on)):
            tasks = ", ".join(f"{seconds:.2f} s" for seconds in run.task_seconds)
            print(f"backend {name}: inference tasks {tasks}; the whole command {run.seconds:.1f} s")
        print(
            f"the same {len(off.predictions)} files; {sum(off.task_seconds) / sum(on.task_seconds):.1f} times as fast"
        )
        print(next(line for line in on.console.splitlines()[::-1] if "prompts in bulk," in line))


if __name__ == "__main__":
    main()
