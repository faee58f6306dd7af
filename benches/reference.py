"""A fixed computation on all threads, by which a run tells how busy the machine is beside it.

It touches next to no memory, so its time changes with the processors alone. It is timed before, between and after the
rounds of ways that are compared: where it takes longer than it did at the best moment of the run, or its threads
waited for a processor, wall times of several threads say more about the machine than about what was timed
(`Results.is_busy`).
"""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

from peers import cores

BLOCK = bytes(1 << 20)
BLOCKS = 64  # hashed by each thread: some hundredths of a second
TRIES = 3

Reading = tuple[float, float]
"""Seconds on the clock, and of a processor in each thread."""


def hashed(_: int) -> None:
    digest = hashlib.sha256()
    for _ in range(BLOCKS):
        digest.update(BLOCK)  # without the interpreter's lock


def reading() -> Reading:
    """Return the best of a few tries: one that something else got in the way of says nothing of the next minute."""
    tries: list[Reading] = []
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(hashed, range(cores())))
        for _ in range(TRIES):
            start, cpu = time.perf_counter(), time.process_time()
            list(pool.map(hashed, range(cores())))
            tries.append((time.perf_counter() - start, (time.process_time() - cpu) / cores()))
    return min(tries)
