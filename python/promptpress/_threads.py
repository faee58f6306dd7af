"""Threads for work beside the caller's, which can be interrupted at any moment.

`concurrent.futures` takes locks in Python code. Ctrl-C between taking one and giving it back leaves it taken: its
threads wait for it for ever, and whoever ends the process waits for them. Here nothing is taken but what the
interpreter gives back itself, and nobody waits for a thread.

Nor is a thread left in the midst of Arrow when the process ends: where it then asks for the interpreter it is ended,
and C++ ends the whole process with it, by a signal. So a call is told of when its thread holds nothing of it any more,
and a process that ends waits a moment for the calls that are being made.
"""

from __future__ import annotations

import _thread
import atexit
import os
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

__all__ = ["Call", "Threads"]

Given = TypeVar("Given")

_LOOK_SECONDS = 1.0
"""So long at most a result is overlooked whose arrival was told while Ctrl-C came."""

_SETTLE_SECONDS = 1.0
"""So long at most the end of the process waits for calls that are being made."""


class Call(Generic[Given]):
    """What a call gives, once it has."""

    __slots__ = ("_arguments", "_ended", "_error", "_function", "_given", "_told")

    _given: Given

    def __init__(self, function: Callable[..., Given], arguments: tuple[Any, ...]) -> None:
        self._function: Callable[..., Given] | None = function
        self._arguments = arguments
        self._told: SimpleQueue[None] = SimpleQueue()
        self._ended: list[None] = []
        self._error: BaseException | None = None

    def run(self) -> Callable[[], None]:
        """Make the call, and keep what it gives or raises.

        Returns:
            What tells those who wait, to be called when nothing else of the call is held.

        """
        function, arguments = self._function, self._arguments
        self._function, self._arguments = None, ()
        assert function is not None
        try:
            self._given = function(*arguments)
        except BaseException as error:
            self._error = error
        ended, told = self._ended, self._told

        def tell() -> None:
            ended.append(None)
            told.put(None)

        return tell

    def wait(self, seconds: float = float("inf")) -> None:
        """Wait until it has ended, however it has.

        Args:
            seconds: how long at most.

        """
        until = time.monotonic() + seconds
        while not self._ended and (left := until - time.monotonic()) > 0:
            try:
                self._told.get(timeout=min(left, _LOOK_SECONDS))
            except Empty:
                continue

    def result(self) -> Given:
        """Wait for what it gives.

        Returns:
            What the function returned.

        Raises:
            BaseException: What the function raised.

        """
        self.wait()
        if self._error is not None:
            raise self._error
        return self._given


class Threads:
    """Some threads that make calls in the order in which they are asked for.

    Args:
        count: how many.

    Example:
        >>> with Threads(1) as threads:
        ...     call = threads.submit(sum, [1, 2])
        ...     call.result()
        3

    """

    def __init__(self, count: int) -> None:
        self._calls: SimpleQueue[Call[Any] | None] = SimpleQueue()
        self._count = count
        for _ in range(count):
            _thread.start_new_thread(_work, (self._calls,))

    def submit(self, function: Callable[..., Given], *arguments: Any) -> Call[Given]:
        """Ask for a call.

        Args:
            function: what to call.
            arguments: with what.

        Returns:
            The call.

        """
        call = Call(function, arguments)
        _at_work.add(call)
        self._calls.put(call)
        return call

    def close(self) -> None:
        """Let the threads end once they have made their calls; they aren't waited for."""
        for _ in range(self._count):
            self._calls.put(None)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _work(calls: SimpleQueue[Call[Any] | None]) -> None:
    while True:
        call = calls.get()
        if call is None:
            return
        tell = call.run()
        _at_work.discard(call)
        del call  # what it gave isn't kept until the next one comes
        tell()


_at_work: set[Call[Any]] = set()


def _settle() -> None:
    """Wait for the calls that are being made, but not for ever: a pipe that is read may have nobody who writes."""
    until = time.monotonic() + _SETTLE_SECONDS
    for call in list(_at_work):
        call.wait(until - time.monotonic())


atexit.register(_settle)
if hasattr(os, "register_at_fork"):
    # A child has none of the threads that make them.
    os.register_at_fork(after_in_child=_at_work.clear)
