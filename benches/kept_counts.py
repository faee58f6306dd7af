"""Instructions a row that are kept in the repository, and the comparison of new ones with them."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.03
WIDER = {"hostile": 0.06, "own-shots": 0.06, "tokens": 0.1}
"""The tolerances of workloads whose counts differ by 2 to 5 % from process to process, however many rows they have."""
HEAD = f"{'workload':22}{'kept':>12}{'found':>12}{'ratio':>8}"


def compiler(core: Path) -> str:
    """Return the version of the Rust compiler that made a library, which it says itself."""
    match = re.search(rb"rustc version ([\d.]+(?:-[\w.]+)? \([^)]*\))", core.read_bytes())
    return match.group(1).decode() if match else "unknown"


def processor() -> str:
    """Return the processor and the instructions that decide which copy of a function runs."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        flags = []
    return f"{platform.machine()} {'with' if 'avx2' in flags else 'without'} AVX2"


def circumstances(core: Path) -> dict[str, str]:
    """Return all versions on which the counts depend, besides the sources of the project."""
    import pyarrow

    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "rustc": compiler(core),
        "CPython": ".".join(platform.python_version_tuple()[:2]),
        "pyarrow": pyarrow.__version__,
        "libc": " ".join(platform.libc_ver()),
        "valgrind": valgrind.removeprefix("valgrind-"),
        "processor": processor(),
    }


def differences(kept: dict[str, str], current: dict[str, str]) -> list[str]:
    """Return a reason for each of the circumstances that isn't the kept one."""
    return [
        f"{name} is {current.get(name, 'absent')}, and the kept figures are of {kept.get(name, 'none')}"
        for name in {**kept, **current}
        if kept.get(name) != current.get(name)
    ]


@dataclass(frozen=True)
class Comparison:
    """Workloads whose counts were compared.

    Attributes:
        worse: Lines of a table for those that take more than the tolerance allows.
        better: The same for those that take so much less that their figures should be written again.
        unmatched: Sentences on workloads without a kept figure, and on figures without a workload.
        compared: Number of workloads with both.

    """

    worse: list[str]
    better: list[str]
    unmatched: list[str]
    compared: int

    @property
    def passes(self) -> bool:
        """Return true if no workload takes too many instructions, and each has a kept figure."""
        return not self.worse and not self.unmatched

    def text(self) -> str:
        """Return the tables, and a line with the numbers of workloads."""
        parts = [
            [title, HEAD, *lines, ""]
            for title, lines in (
                ("worse by more than the tolerance:", self.worse),
                ("better by more than the tolerance; --write keeps the new figures:", self.better),
            )
            if lines
        ]
        last = f"{self.compared} compared, {len(self.worse)} worse, {len(self.better)} better"
        return "\n".join([line for part in parts for line in part] + [*self.unmatched, last])


def differing(kept: dict[str, float], counted: dict[str, float], sign: int) -> list[str]:
    """Return the workloads that take more instructions than the tolerance allows (`sign` 1), or as much less (-1)."""
    ratios = {name: counted[name] / kept[name] for name in kept if name in counted}
    return [name for name in ratios if sign * (ratios[name] - 1) > WIDER.get(name, TOLERANCE)]


def compare(kept: dict[str, float], counted: dict[str, float]) -> Comparison:
    """Compare the instructions a row of workloads, by the workloads' names."""
    ratios = {name: counted[name] / kept[name] for name in kept if name in counted}

    def lines(sign: int) -> list[str]:
        chosen = differing(kept, counted, sign)
        chosen.sort(key=lambda name: -ratios[name])
        return [f"{name:22}{kept[name]:12,.1f}{counted[name]:12,.1f}{ratios[name]:8.3f}" for name in chosen]

    return Comparison(
        lines(1),
        lines(-1),
        [f"{name}: no figure is kept; --write keeps one" for name in counted if name not in kept]
        + [f"{name}: a figure is kept, and there is no such workload" for name in kept if name not in counted],
        len(ratios),
    )


def read(file: Path = FILE) -> dict[str, Any]:
    """Return the file's content: `counted_with` and `instructions_a_row`."""
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def write(counted_with: dict[str, str], per_row: dict[str, float], file: Path = FILE) -> None:
    """Write the file, a line a workload."""
    figures = {name: round(count, 1) for name, count in per_row.items()}
    content = {"counted_with": counted_with, "instructions_a_row": figures}
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
