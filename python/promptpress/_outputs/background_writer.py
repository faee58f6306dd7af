"""Batches are written by a thread while the next ones are rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from promptpress._file_errors import OutputError, reason
from promptpress._outputs.formats import Writer


@contextmanager
def background_writer(writer: Writer) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write each batch in a thread of its own while the next one is read and rendered.

    At most one batch is being written, and one waits to be. Rendering stays with the thread that asks, since signals
    reach the main one alone.

    Args:
        writer: what writes.

    Yields:
        What takes a batch; it raises what went wrong with an earlier one. When the block ends, all are written.

    Raises:
        OutputError: when Arrow can't write a batch.

    Example:
        >>> class Print:
        ...     def write_batch(self, batch):
        ...         print(batch)
        >>> with background_writer(Print()) as write:
        ...     write("a batch")
        a batch

    """
    coming: Future[None] | None = None

    def write(batch: pa.RecordBatch) -> None:
        nonlocal coming
        if coming is not None:
            coming.result()
        coming = thread.submit(write_or_raise, writer.write_batch, batch)

    with ThreadPoolExecutor(1, "promptpress-writer") as thread:
        yield write
        if coming is not None:
            coming.result()


def write_or_raise(write: Callable[..., None], *arguments: Any) -> None:
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
