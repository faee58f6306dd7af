"""A thread that writes batches while the next are made; exports and `render` use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
from promptpress.engine.errors import OutputError, reason

from promptpress_workbench.threads import Call, Threads

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
