"""Ways of doing the same, timed in turns: what the benches of Jinja templates and of requests share.

Each way may be given its own number of rows, since some are thousands of times slower than others; rates compare.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import promptpress
from peers import cores
from rounds import Replay

ROUNDS = 5
THREADS = sorted({cores(), 1}, reverse=True)


@dataclass
class Way:
    """One of them.

    `work` is what is timed, and `rows` how many rows it does; `threads` are promptpress's, None for a peer.
    """

    name: str
    rows: int
    work: Callable[[], Any]
    threads: int | None = None
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Seconds of all its threads' work: what is left of a machine that does other things as well."""

    def round(self) -> None:
        promptpress.set_threads(self.threads or cores())
        gc.collect()
        start, cpu = time.perf_counter(), time.process_time()
        self.work()
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(time.process_time() - cpu)


def measured(ways: Sequence[Way], rounds: int = ROUNDS) -> dict[str, Way]:
    """Time all of them, in turns; the first round of each isn't counted."""
    gc.collect()
    gc.freeze()  # rows as dicts, which the collector would walk again and again
    try:
        for number in range(rounds + 1):
            for way in ways:
                way.round()
                if not number:
                    way.seconds.clear()
                    way.cpu.clear()
    finally:
        gc.unfreeze()
        for way in ways:
            way.work = lambda: None
    return {way.name: way for way in ways}


def names_of(ours: Sequence[str], peers: Sequence[str]) -> list[str]:
    """Ours with all threads and with one, then the peers."""
    return [name if threads != 1 else f"{name}-1" for name in ours for threads in THREADS] + list(peers)


def ours(name: str, rows: int, work: Callable[[], Any]) -> Iterator[Way]:
    """A way of promptpress's, with all threads and with one."""
    for threads in THREADS:
        yield Way(name if threads != 1 else f"{name}-1", rows, work, threads)


def replayed(way: Way, replay: Replay, benchmark: Any, **more: Any) -> float:
    """Tell pytest-benchmark of a way's rounds; returns rows a second."""
    replay.seconds = list(way.seconds)
    benchmark.pedantic(replay.play, rounds=len(way.seconds))
    cpu = median(way.cpu) if way.cpu else None
    benchmark.extra_info.update(
        {"way": way.name, "threads": way.threads or 1, "samples": way.rows, "cpu_seconds": cpu, **more}
    )
    return way.rows / benchmark.stats.stats.median
