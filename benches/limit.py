"""The limit: one copy of the bytes that a workload's prompts have.

Rendering has to write its output; a copy of the same size, by as many threads, is what memory allows. *Fresh*: the
target is newly obtained in each round, as `render` obtains its output, so its pages are touched for the first time.
numpy advises huge pages for it where the system has them for the asking. *Reused*: batch after batch into the same
memory, touched before, as in a `stream` whose batches are dropped as they come; no thread goes on to the next batch
before the others.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from peers import Peer

SOURCE_BYTES = 1 << 30  # bytes; far beyond any cache. Longer copies start again at its beginning.


@lru_cache(maxsize=1)
def source(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.uint8)


class CopyLimit(Peer):
    distribution = "numpy"
    package = "numpy"

    def __init__(self, setting: str, threads: int) -> None:
        self.setting = setting
        self.threads = threads
        self.id, self.name = f"limit-{setting}", f"copy limit, {setting}"

    def prepare(self, *_: Any) -> Callable[[], Any]:
        raise NotImplementedError("what is copied is a number of bytes: prepare_bytes")

    def prepare_bytes(self, size: int, batch: int) -> Callable[[], Any]:
        """The copy of `size` bytes, where reused in pieces of `batch`."""
        pool = ThreadPoolExecutor(self.threads)
        block = source(min(size, SOURCE_BYTES))
        if self.setting == "fresh":

            def fresh() -> np.ndarray:
                target = np.empty(size, np.uint8)
                copy(pool, self.threads, block, 0, target)
                return target

            return fresh
        memory = np.zeros(min(size, batch), np.uint8)
        memory.fill(1)  # zeros alone aren't touched

        def reused() -> None:
            for start in range(0, size, len(memory)):
                copy(pool, self.threads, block, start, memory[: size - start])

        return reused

    def requests(self, *_: Any) -> list[Any]:
        raise NotImplementedError("a copy renders nothing")


def copy(pool: ThreadPoolExecutor, threads: int, block: np.ndarray, start: int, target: np.ndarray) -> None:
    """Fill the target from the endlessly repeated block, each thread an equal share of it."""
    share = -(-len(target) // threads)

    def part(first: int) -> None:
        end = min(first + share, len(target))
        while first < end:
            offset = (start + first) % len(block)
            count = min(end - first, len(block) - offset)
            target[first : first + count] = block[offset : offset + count]  # without the interpreter's lock
            first += count

    list(pool.map(part, range(0, len(target), share)))
