"""Keeps what the benches find, for the file of results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from in_turns import Turns


class Replay:
    """A timer for pytest-benchmark, which tells times that were measured before: `play` lasts as long as the next."""

    __name__ = "perf_counter, ways in turns"

    def __init__(self) -> None:
        self._now = 0.0
        self._seconds: list[float] = []

    def __call__(self) -> float:
        return self._now

    def rounds(self, benchmark: Any, seconds: Sequence[float]) -> None:
        """Give rounds to the benchmark of a test."""
        self._seconds = list(seconds)
        benchmark.pedantic(self.play, rounds=len(seconds))

    def play(self) -> None:
        """Let the next round pass."""
        self._now += self._seconds.pop(0)


REPLAY = Replay()


class Record:
    """Runs that the tests have timed as dicts, and peers that aren't there with the reason.

    `request` is that of the test that runs.
    """

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.absent: dict[str, str] = {}
        self.request: Any = None
        self.start = time.perf_counter()

    def __call__(self, kind: str, workload: str, turns: Turns, **more: Any) -> None:
        """Keep the rounds of all ways of a workload; pytest-benchmark has those of promptpress's first."""
        for way in turns.ways:
            row = {"way": way.name, "role": way.role, "threads": way.threads, "rows": way.rows, "bytes": way.bytes}
            times = {"seconds": way.seconds, "cpu": way.cpu, "readings": turns.readings}
            self.figures(kind, workload, **row, **times, **way.more, **more)
        first = next((way for way in turns.ways if way.role == "ours"), turns.ways[0])
        REPLAY.rounds(self.request.getfixturevalue("benchmark"), first.seconds)

    def figures(self, kind: str, workload: str, **more: Any) -> None:
        """Keep figures that aren't times of rounds."""
        self.runs.append({"kind": kind, "workload": workload, **more})

    def lasted(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.start
