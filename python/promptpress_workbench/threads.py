"""Background threads that survive Ctrl-C at any moment; used by the readers and writers of files.

`concurrent.futures` takes locks in Python code. If Ctrl-C arrives between taking and releasing a lock, the lock stays
taken, its threads wait for ever, and the end of the process waits for them. The threads here take no locks but those
that the interpreter releases itself, and nobody joins a thread.

A thread must not be inside Arrow when the process ends: when it asks for the interpreter, it is ended, and C++ then
ends the whole process by a signal. So a call is reported as done only after its thread has released everything of it,
and the end of the process waits a moment for calls that are running.
"""

from __future__ import annotations

import _thread
import atexit
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import pyarrow as pa
from promptpress.engine.errors import OutputError, reason

Result = TypeVar("Result")

_POLL_SECONDS = 1.0
"""Longest delay of a result whose notification was lost by a Ctrl-C."""

_EXIT_SECONDS = 2.0
"""Longest time that the end of the process waits for running calls."""

_SETTLE_SECONDS = 0.1
"""Time that Arrow's threads get when a call was waited for: nothing says when they have ended."""


class Call(Generic[Result]):
    """A function call in a background thread, and its result."""

    __slots__ = ("_arguments", "_ended", "_error", "_function", "_notifications", "_result")

    _result: Result

    def __init__(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> None:
        self._function: Callable[..., Result] | None = function
        self._arguments = arguments
        self._notifications: SimpleQueue[None] = SimpleQueue()
        self._ended: list[None] = []
        self._error: BaseException | None = None

    def run(self) -> Callable[[], None]:
        """Make the call, keep its result or error, and return a function that wakes the waiting threads.

        It is to be called when no other reference to the call is left.
        """
        function, arguments = self._function, self._arguments
        self._function, self._arguments = None, ()
        assert function is not None
        try:
            self._result = function(*arguments)
        except BaseException as error:
            self._error = error
        ended, notifications = self._ended, self._notifications

        def notify() -> None:
            ended.append(None)
            notifications.put(None)

        return notify

    def wait(self, seconds: float = float("inf")) -> None:
        """Wait until the call has returned or raised, or until the seconds are over."""
        until = time.monotonic() + seconds
        while not self._ended and (left := until - time.monotonic()) > 0:
            try:
                self._notifications.get(timeout=min(left, _POLL_SECONDS))
            except Empty:
                continue

    def result(self) -> Result:
        """Wait for the call, and return its result or raise its error."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._result


class Threads:
    """A number of background threads that run calls in the order of their submission."""

    def __init__(self, count: int) -> None:
        self._calls: SimpleQueue[Call[Any] | None] = SimpleQueue()
        self._count = count
        for _ in range(count):
            _thread.start_new_thread(_work, (self._calls,))

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Call[Result]:
        call = Call(function, arguments)
        _unfinished.add(call)
        self._calls.put(call)
        return call

    def close(self) -> None:
        """Let the threads end after their queued calls, without waiting for them."""
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
        notify = call.run()
        _unfinished.discard(call)
        del call  # else its result would be kept until the next call
        notify()


_unfinished: set[Call[Any]] = set()


def wait_for_calls() -> None:
    """Wait for running calls, but not for ever: the writer of a pipe that is read may never write."""
    until = time.monotonic() + _EXIT_SECONDS
    unfinished = list(_unfinished)
    for call in unfinished:
        call.wait(until - time.monotonic())
    if unfinished:
        # Arrow's own threads may still let go of the last call's objects, and would end a process that shuts down.
        time.sleep(_SETTLE_SECONDS)


atexit.register(wait_for_calls)
if hasattr(os, "register_at_fork"):
    # A child process has none of the threads that run these calls.
    os.register_at_fork(after_in_child=_unfinished.clear)


T = TypeVar("T")


@contextmanager
def background_writer(write: Callable[[T], object]) -> Iterator[Callable[[T], None]]:
    """Yield a function that writes a batch, or anything else, in a thread; all is written when the block ends.

    One batch is written at a time, in order, while at most one more waits. The caller's thread renders, because only
    the main thread gets signals. The function raises the error of an earlier write; a write that Arrow can't do is an
    `OutputError`.
    """
    pending: Call[None] | None = None

    def submit(item: T) -> None:
        nonlocal pending
        if pending is not None:
            pending.result()
        pending = thread.submit(write_or_raise, write, item)

    with Threads(1) as thread:
        try:
            yield submit
            if pending is not None:
                pending.result()
        finally:
            # Nothing may be written after the block, however it ends.
            if pending is not None:
                pending.wait()


def write_or_raise(write: Callable[..., object], *arguments: Any) -> None:
    """Call `write`; raise `OutputError` for an error of Arrow that isn't an error of the system."""
    try:
        write(*arguments)
    except OSError:
        raise  # `output_file` makes it an OutputError
    except pa.ArrowException as error:
        raise OutputError(reason(error)) from error
