"""Results of `make bench`, read from the files that conftest.py writes, and looked up by kind, workload and way."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

Run = dict[str, Any]
DRIFT = 1.1


class Results:
    """The runs of one or more files; the machine is that of the first."""

    def __init__(self, results: Iterable[dict[str, Any]]) -> None:
        self.files = list(results)
        self.machine: dict[str, Any] = self.files[0]["machine"]
        self.quick = any(file["quick"] for file in self.files)
        self.absent: dict[str, str] = {name: why for file in self.files for name, why in file["absent"].items()}
        self.runs: list[Run] = [run for file in self.files for run in file["runs"]]
        self.best = min((wall for run in self.runs for wall, _ in run.get("readings", ())), default=0.0)

    def of(self, kind: str, **wanted: Any) -> list[Run]:
        return [
            run
            for run in self.runs
            if run["kind"] == kind and all(run.get(name) == value for name, value in wanted.items())
        ]

    def run(self, kind: str, workload: str, **wanted: Any) -> Run | None:
        """Return the first of them: with all threads, where a way has several."""
        return next(iter(self.of(kind, workload=workload, **wanted)), None)

    def workloads(self, kind: str) -> dict[str, list[Run]]:
        """The runs of a kind by workload, in their order."""
        grouped: dict[str, list[Run]] = {}
        for run in self.of(kind):
            grouped.setdefault(run["workload"], []).append(run)
        return grouped

    def is_busy(self, run: Run) -> bool:
        """Return true if the reference took a tenth longer beside this than at its best, or its threads waited."""
        return any(wall > DRIFT * min(self.best, cpu) for wall, cpu in run["readings"])


def read(files: Iterable[Path]) -> Results:
    return Results(json.loads(file.read_text(encoding="utf-8"))["results"] for file in files)


def rows_per_second(run: Run, clock: str = "seconds") -> float:
    """Return rows a second, or of a processor's (`clock="cpu"`)."""
    return run["rows"] / median(run[clock])


def label(run: Run, runs: list[Run]) -> str:
    """The way's name, and that it is on one thread where it was timed with more as well."""
    has_more = any(other["way"] == run["way"] and other["threads"] > run["threads"] for other in runs)
    return f"{run['way']}, 1 thread" if has_more else run["way"]
