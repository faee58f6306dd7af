"""Threads for work beside the caller's, which can be interrupted at any moment.

`concurrent.futures` takes locks in Python code. Ctrl-C between taking one and giving it back leaves it taken: its
threads wait for it for ever, and whoever ends the process waits for them. Here nothing is taken but what the
interpreter gives back itself, and nobody waits for a thread.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

__all__ = ["Call", "Threads"]

Given = TypeVar("Given")

_LOOK_SECONDS = 1.0
"""So long at most a result is overlooked whose arrival was told while Ctrl-C came."""


class Call(Generic[Given]):
    """What a call gives, once it has."""

    __slots__ = ("_arguments", "_error", "_function", "_given", "_has_ended", "_told")

    _given: Given

    def __init__(self, function: Callable[..., Given], arguments: tuple[Any, ...]) -> None:
        self._function: Callable[..., Given] | None = function
        self._arguments = arguments
        self._told: SimpleQueue[None] = SimpleQueue()
        self._error: BaseException | None = None
        self._has_ended = False

    def run(self) -> None:
        """Make the call, and keep what it gives or raises."""
        function, arguments = self._function, self._arguments
        self._function, self._arguments = None, ()
        assert function is not None
        try:
            self._given = function(*arguments)
        except BaseException as error:
            self._error = error
        self._has_ended = True
        self._told.put(None)

    def wait(self) -> None:
        """Wait until it has ended, however it has."""
        while not self._has_ended:
            try:
                self._told.get(timeout=_LOOK_SECONDS)
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
        call.run()
        del call  # what it gave isn't kept until the next one comes
