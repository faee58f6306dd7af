"""Lines of an export, written to files while the next lines are made; `batch_files` and `conversations` use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa
from promptpress.engine import RenderedLines, as_reader, warn_of_no_rows
from promptpress.engine.core import LineLayout
from promptpress.engine.errors import OutputError
from promptpress.typing import StreamLike

from promptpress_workbench.export.misspelt import Unknown, refuse_misspelt_columns
from promptpress_workbench.files.write.background_writer import background_writer
from promptpress_workbench.files.write.json_lines import slices
from promptpress_workbench.files.write.shards import sharded_lines

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Written:
    """The files that an export has written.

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


class LineSource(Protocol):
    """Makes the lines of batches of one schema."""

    @property
    def frame(self) -> LineLayout | None:
        """The text around each request, if lines have nothing else of a row."""

    def lines(self, batch: pa.RecordBatch | RenderedLines) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch; a batch is `RenderedLines` only if there is a `frame`."""


class RenderedStream(NamedTuple):
    """Batches that are rendered while they are exported, as `RenderedLines` if possible where lines have a frame."""

    schema: pa.Schema
    batches: Callable[[LineLayout | None], Iterator[pa.RecordBatch | RenderedLines]]


def write_lines(
    table: StreamLike | RenderedStream,
    path: Path,
    source_of: Callable[[pa.Schema], LineSource],
    max_lines: int | None = None,
    max_bytes: int | None = None,
    *,
    unknown: Unknown,
) -> Written:
    """Write a rendered table as lines, in files of bounded size, all of them or none.

    An error of a file is Python's own `OSError`, but an `OutputError` for a `RenderedStream`, which is the command's.
    Rendering itself tells that a `RenderedStream` has no rows.

    Warns:
        PromptWarning: If the table has no rows.
    """
    if isinstance(table, RenderedStream):
        refuse_misspelt_columns(table.schema, unknown)
        source = source_of(table.schema)
        return write_batches(table.batches(source.frame), path, source, max_lines, max_bytes)
    try:
        reader = as_reader(table)
        refuse_misspelt_columns(reader.schema, unknown)
        written = write_batches(reader, path, source_of(reader.schema), max_lines, max_bytes)
    except OutputError as error:
        raise OSError(str(error)) from error
    warn_of_no_rows(written.requests)
    return written


def write_batches(
    batches: Iterable[pa.RecordBatch | RenderedLines],
    path: Path,
    source: LineSource,
    max_lines: int | None = None,
    max_bytes: int | None = None,
) -> Written:
    """Write batches of one schema as lines, like `write_lines`."""

    def make_lines(batch: pa.RecordBatch | RenderedLines) -> None:
        for rows in [batch] if isinstance(batch, RenderedLines) else (rows for rows, _ in slices(batch)):
            write(source.lines(rows))

    with (
        sharded_lines(os.fspath(path), max_lines, max_bytes) as files,
        background_writer(files.write_all) as write,
        background_writer(make_lines) as make,
    ):
        for batch in batches:
            make(batch)
    return Written(files.paths, files.lines, files.bytes)
