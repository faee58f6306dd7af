"""The time that `promptpress_backend.pth` adds to the start of Python: `python benches/python_start.py`.

A fresh environment starts Python with the file and without it, in turns. What counts is the time of the processor.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

FILE = Path(__file__).parents[1] / "startup" / "purelib" / "promptpress_backend.pth"
TURNS = 300


def start(python: Path) -> float:
    """Start Python, and return the processor's time in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Measure in turns, and print the medians."""
    os.environ.pop("PROMPTPRESS_BACKEND", None)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = Path(folder, "bin", "python")
        packages = next(Path(folder, "lib").glob("python*/site-packages"))
        times: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(2 * TURNS):
            has_file = bool(turn % 2)
            file = packages / FILE.name
            if has_file:
                shutil.copy(FILE, file)
            else:
                file.unlink(missing_ok=True)
            times[has_file].append(start(python))
    without, with_file = statistics.median(times[False]), statistics.median(times[True])
    difference = statistics.median(b - a for a, b in zip(times[False], times[True], strict=True))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"Python {version} starts in {without:.2f} ms without the file, and in {with_file:.2f} ms with it")
    print(f"the median of {TURNS} differences is {difference:.3f} ms")


if __name__ == "__main__":
    main()
