"""Keeps what the benches find, for the file of results."""

from __future__ import annotations

import time
from typing import Any

from in_turns import Turns


class Record:
    """Runs that the tests have timed as dicts, and peers that aren't there with the reason."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.absent: dict[str, str] = {}
        self.start = time.perf_counter()

    def __call__(self, kind: str, workload: str, turns: Turns, **more: Any) -> None:
        """Keep the rounds of all ways of a workload."""
        for way in turns.ways:
            row = {"way": way.name, "role": way.role, "threads": way.threads, "rows": way.rows, "bytes": way.bytes}
            times = {"seconds": way.seconds, "cpu": way.cpu, "readings": turns.readings}
            self.figures(kind, workload, **row, **times, **way.more, **more)

    def figures(self, kind: str, workload: str, **more: Any) -> None:
        """Keep figures that aren't times of rounds."""
        self.runs.append({"kind": kind, "workload": workload, **more})

    def lasted(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.start
