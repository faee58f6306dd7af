"""Lines of an export on their way into files, and what has been written in the end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from promptpress._file_errors import OutputError
from promptpress._outputs.background_writer import background_writer
from promptpress._outputs.json_lines import slices
from promptpress._outputs.shards import sharded_lines
from promptpress._rendered_lines import RenderedLines
from promptpress._tables import as_reader
from promptpress.typing import StreamLike

__all__ = ["LinesOf", "Path", "Written", "as_os_errors", "write_batches", "write_lines"]

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Written:
    """What an export has written.

    Args:
        paths: the files, in order.
        requests: how many lines they hold.
        bytes: how long they are together.

    >>> Written(["a.jsonl"], 2, 300)
    Written(paths=['a.jsonl'], requests=2, bytes=300)

    """

    paths: list[str]
    requests: int
    bytes: int


class LinesOf(Protocol):
    """What makes lines of batches of one schema."""

    def lines(self, batch: pa.RecordBatch | RenderedLines) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch."""


def write_lines(
    table: StreamLike,
    path: Path,
    source: Callable[[pa.Schema], LinesOf],
    max_lines: int | None = None,
    max_bytes: int | None = None,
) -> Written:
    """Write a rendered table as lines, in files of bounded size, all of them or none.

    Args:
        table: a table, or a reader, whose batches are written as they come.
        path: the file, or what the names of several are made of.
        source: what makes lines of batches of a schema.
        max_lines: lines of a file; None: any number.
        max_bytes: its bytes; None: any number.

    Returns:
        What has been written.

    Raises:
        OutputError: when a file can't be written.

    """
    reader = as_reader(table)
    return write_batches(reader, path, source(reader.schema), max_lines, max_bytes)


def write_batches(
    batches: Iterable[pa.RecordBatch | RenderedLines],
    path: Path,
    source: LinesOf,
    max_lines: int | None = None,
    max_bytes: int | None = None,
) -> Written:
    """Write batches as lines; as `write_lines`.

    Args:
        batches: of one schema; lines only for a source that takes them.
        path: the file, or what the names of several are made of.
        source: what makes their lines.
        max_lines: lines of a file; None: any number.
        max_bytes: its bytes; None: any number.

    Returns:
        What has been written.

    Raises:
        OutputError: when a file can't be written.

    """
    with (
        sharded_lines(os.fspath(path), max_lines, max_bytes) as files,
        background_writer(files.write_all) as write,
        background_writer(lambda batch: make_all(batch, source, write)) as make,
    ):
        for batch in batches:
            make(batch)
    return Written(files.paths, files.lines, files.bytes)


def make_all(
    batch: pa.RecordBatch | RenderedLines, source: LinesOf, write: Callable[[list[pa.LargeBinaryArray]], None]
) -> None:
    """Make a batch's lines, some rows at a time.

    Args:
        batch: the rows.
        source: what makes their lines.
        write: takes them.

    """
    if isinstance(batch, RenderedLines):
        write(source.lines(batch))
        return
    for rows, _ in slices(batch):
        write(source.lines(rows))


@contextlib.contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise what is wrong with a file as Python's own error.

    Raises:
        OSError: for an OutputError.

    >>> with as_os_errors():
    ...     raise OutputError("a: disk full")
    Traceback (most recent call last):
    ...
    OSError: a: disk full

    """
    try:
        yield
    except OutputError as error:
        raise OSError(str(error)) from error
