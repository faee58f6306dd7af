"""Ways of doing the same, timed in turns: what disturbs the machine disturbs all of them.

Each way is given its own number of rows, so that a round of it lasts some tenths of a second: some are thousands of
times slower than others, and rates compare. Beside the time on the clock stand the processors' seconds, of this
process with all its threads and of the commands that it has run.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import promptpress
from memory import air
from peers import cores
from reference import Reading, reading

ROUNDS = 5
THREADS = sorted({cores(), 1}, reverse=True)


class Sizes:
    """The amounts that are compared and timed."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.compared = 200 if quick else 1_000  # samples
        self.output = 10_000_000 if quick else 360_000_000  # bytes, about, of promptpress's prompts in a round
        self.round = 0.02 if quick else 0.3  # seconds, about, of a peer's round

    def ours(self, rows: int) -> int:
        """Rows of a round of promptpress, where output is small beside them."""
        return max(100, rows // 20) if self.quick else rows

    def theirs(self, prepare: Callable[[int], Callable[[], Any]], most: int, least: int = 10) -> int:
        """Rows of a peer's round: tried with few, and with more until they take a third of it."""
        count = min(50, most)
        prepare(count)()  # the first time may hold what is done but once
        while True:
            work = prepare(count)
            start = processor_seconds()
            work()
            times = self.round / max(processor_seconds() - start, 1e-6)
            rows = min(most, max(least, int(count * min(times, 10))))
            if times < 3 or count == most:
                break
            count = rows
        digits = 10 ** max(0, len(str(rows)) - 2)
        return rows // digits * digits


@dataclass
class Way:
    """One of them: `work` does `rows` rows.

    `before` sets what it alone needs, untimed; `bytes` is the memory that its output takes, where that is known.
    """

    name: str
    rows: int
    work: Callable[[], Any]
    threads: int = 1
    role: str = "peer"
    bytes: int | None = None
    before: Callable[[], Any] = lambda: None
    more: dict[str, Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def round(self) -> None:
        promptpress.set_threads(self.threads)
        self.before()
        gc.collect()
        start, cpu = time.perf_counter(), processor_seconds()
        answer = self.work()
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(processor_seconds() - cpu)
        del answer  # not within the time


@dataclass
class Turns:
    """All ways of a workload, and the readings of the reference before, between and after their rounds."""

    ways: list[Way]
    readings: list[Reading]


def processor_seconds() -> float:
    """Return the processors' seconds of this process and of those that it has started and that have ended."""
    of_commands = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + of_commands.ru_utime + of_commands.ru_stime


def measured(ways: Iterable[Way]) -> Turns:
    """Time all of them in turns; the first round of each isn't counted."""
    turns, warm = Turns(list(ways), []), 0
    gc.collect()
    gc.freeze()  # rows as dicts, which the collector would walk again and again
    try:
        for number in range(ROUNDS + 1):
            if number in {1, 1 + ROUNDS // 2}:
                turns.readings.append(reading())
            for way in turns.ways:
                if (way.bytes or 0) > warm:  # the one before has given back less than this needs
                    air(way.bytes or 0)
                warm = way.bytes or 0
                way.round()
                if not number:
                    way.seconds.clear()
                    way.cpu.clear()
        turns.readings.append(reading())
    finally:
        gc.unfreeze()
        for way in turns.ways:
            way.work = way.before = lambda: None
    return turns


def ours(name: str, rows: int, work: Callable[[], Any], **more: Any) -> Iterator[Way]:
    """A way of promptpress's, with all threads and with one."""
    for threads in THREADS:
        yield Way(name, rows, work, threads, "ours", **more)
