"""What has been made is written by a thread while the next is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from promptpress._file_errors import OutputError, reason
from promptpress._threads import Call, Threads

Made = TypeVar("Made")


@contextmanager
def background_writer(write: Callable[[Made], object]) -> Iterator[Callable[[Made], None]]:
    """Write each batch, or whatever it is, in a thread of its own while the next one is made.

    At most one is being written, and one waits to be. Rendering stays with the thread that asks, since signals reach
    the main one alone.

    Args:
        write: what writes one; it is called in their order, and never twice at a time.

    Yields:
        What takes one; it raises what went wrong with an earlier one. When the block ends, all are written.

    Raises:
        OutputError: when Arrow can't write one.

    Example:
        >>> with background_writer(print) as write:
        ...     write("a batch")
        a batch

    """
    coming: Call[None] | None = None

    def take(made: Made) -> None:
        nonlocal coming
        if coming is not None:
            coming.result()
        coming = thread.submit(write_or_raise, write, made)

    with Threads(1) as thread:
        try:
            yield take
            if coming is not None:
                coming.result()
        finally:
            # Nothing is written any more when the block has ended, however it has.
            if coming is not None:
                coming.wait()


def write_or_raise(write: Callable[..., object], *arguments: Any) -> None:
    """Write; what Arrow can't write is an error of the output.

    Args:
        write: what writes.
        arguments: its arguments.

    Raises:
        OutputError: when Arrow can't write them.

    """
    try:
        write(*arguments)
    except OSError:
        raise  # told by output_file
    except pa.ArrowException as error:
        raise OutputError(reason(error)) from error
