"""A stand-in for janus's queue: one queue for threads and for coroutines, without waiting by the clock."""

from __future__ import annotations

import asyncio
import queue
from typing import Any


class _AsyncSide:
    """The side for coroutines of one event loop."""

    def __init__(self, items: queue.Queue[Any]) -> None:
        self._items = items
        self.put_nowait = items.put_nowait
        self.get_nowait = items.get_nowait
        self.empty = items.empty

    async def get(self) -> Any:
        while self._items.empty():
            await asyncio.sleep(0)
        return self._items.get_nowait()

    async def put(self, item: Any) -> None:
        while self._items.full():
            await asyncio.sleep(0)
        self._items.put_nowait(item)


class Queue:
    """A stand-in for `janus.Queue`, which AISBench names in annotations too."""

    sync_q: queue.Queue[Any]
    async_q: Any = None

    def __init__(self, maxsize: int = 0) -> None:
        self.sync_q = queue.Queue(maxsize)
        self.async_q = _AsyncSide(self.sync_q)

    def close(self) -> None:
        """Nothing holds on to a loop."""

    async def wait_closed(self) -> None:
        """Nothing is waited for."""
