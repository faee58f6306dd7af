"""Results of runs by kind, workload and peer, read from the JSON of pytest-benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Run = dict[str, Any]  # what a test said of itself (extra_info), and `stats`


class Results:
    """The runs of one or more files; the machine is that of the first."""

    def __init__(self, files: list[Path]) -> None:
        results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        self.machine: dict[str, Any] = results[0]["machine_info"]
        self.runs: list[Run] = [
            {**run["extra_info"], "stats": run["stats"]} for result in results for run in result["benchmarks"]
        ]

    def of(self, kind: str, **wanted: Any) -> list[Run]:
        return [
            run
            for run in self.runs
            if run["kind"] == kind and all(run.get(name) == value for name, value in wanted.items())
        ]

    def first_run(self, kind: str, **wanted: Any) -> Run | None:
        return next(iter(self.of(kind, **wanted)), None)

    def rate(self, workload: str, peer: str) -> Run | None:
        return self.first_run("rate", workload=workload, peer=peer)

    def workloads(self) -> dict[str, list[Run]]:
        """The rates by workload, in the order of the runs."""
        grouped: dict[str, list[Run]] = {}
        for run in self.of("rate"):
            grouped.setdefault(run["workload"], []).append(run)
        return grouped


def median(run: Run) -> float:
    return run["stats"]["median"]


def rows_per_second(run: Run) -> float:
    return run["samples"] / median(run)


def bytes_per_second(run: Run) -> float:
    return run["bytes"] / median(run)
