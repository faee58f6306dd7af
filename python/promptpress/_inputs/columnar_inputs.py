"""Parquet and Arrow IPC as record batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from errno import EIO
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import Choice, DataError, reason
from promptpress._inputs.sources import Source


class RowGroup(NamedTuple):
    """A part of a Parquet file that can't be read.

    Example:
        >>> str(RowGroup("a.parquet", 3, 300, 100, "not a valid page"))
        'a.parquet: row group 3 (rows 300 to 399) is damaged: not a valid page'

    """

    path: str
    number: int
    first: int
    rows: int
    why: str

    def __str__(self) -> str:
        rows = f"rows {self.first:,} to {self.first + self.rows - 1:,}"
        return f"{self.path}: row group {self.number} ({rows}) is damaged: {self.why}"


class ParquetInput:
    """One Parquet file.

    Args:
        source: the file.
        batch_size: rows a batch, at most.
        stack: closes it.
        skip_corrupt: whether row groups that can't be read are left out. All are read beforehand then, so that what is
            left out is known. None: whoever reads has no such option.

    """

    def __init__(self, source: Source, batch_size: int, stack: ExitStack, *, skip_corrupt: bool | None = None) -> None:
        self._path = source.path
        self._hint = "--skip-corrupt leaves it out" if skip_corrupt is not None else ""
        self._file = stack.enter_context(pq.ParquetFile(source.open_anywhere(), page_checksum_verification=True))
        self._batch_size = batch_size
        self.schema: pa.Schema = self._file.schema_arrow
        metadata = self._file.metadata
        self._counts = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        self._groups = list(range(len(self._counts)))
        self.skipped: list[RowGroup] = []
        """Row groups that are left out."""
        if skip_corrupt:
            self.skipped = [found for n in self._groups if (found := self._damage(n)) is not None]
            self._groups = sorted({*self._groups} - {found.number for found in self.skipped})
        self.num_rows: int | None = sum(self._counts[n] for n in self._groups)

    def begin(self, first: int) -> int:
        """Say from which row on it can be read so that batches are what they would be if all had been read.

        Args:
            first: the first row that is asked for.

        Returns:
            That row, or one before it. Batches go on over the ends of row groups: it is where both end.

        """
        starts = accumulate((self._counts[n] for n in self._groups), initial=0)
        return max((start for start in starts if start <= first and start % self._batch_size == 0), default=0)

    def batches(self, first: int = 0) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Args:
            first: the row to begin with, as `begin` gives it.

        Yields:
            Record batches of the file's schema.

        Raises:
            DataError: when a row group is damaged.

        """
        starts = list(accumulate((self._counts[n] for n in self._groups), initial=0))
        at = first
        try:
            for batch in self._file.iter_batches(self._batch_size, row_groups=self._groups[starts.index(first) :]):
                yield batch
                at += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            for n, end in zip(self._groups, starts[1:], strict=True):
                if end > at and (found := self._damage(n)) is not None:
                    raise DataError(str(found), for_command=self._hint) from error
            raise

    def _damage(self, number: int) -> RowGroup | None:
        """Say what is wrong with a row group."""
        try:
            for _ in self._file.iter_batches(self._batch_size, row_groups=[number]):
                pass
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (None, EIO):
                raise  # the system says that it can't be read, and not that it is damaged
            first = sum(self._counts[:number])
            return RowGroup(self._path, number, first, self._counts[number], reason(error))
        return None


class ArrowInput:
    """One Arrow IPC file, in either form: a file ends with an index, a stream doesn't; the first bytes tell.

    Args:
        source: the file.
        batch_size: rows a batch, at most.
        stack: closes it.

    Raises:
        DataError: when it is in neither.

    """

    def __init__(self, source: Source, batch_size: int, stack: ExitStack) -> None:
        file: Any = source.open_anywhere()
        if isinstance(file, str):
            file = stack.enter_context(pa.OSFile(file, "rb"))
        self._batch_size = batch_size
        self.num_rows: int | None = None
        self._reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader
        if file.read(6) == b"ARROW1":
            file.seek(0)
            self._reader = stack.enter_context(pa.ipc.open_file(file))
        else:
            file.seek(0)
            try:
                self._reader = stack.enter_context(pa.ipc.open_stream(file))
            except pa.ArrowInvalid as error:
                why = f"neither an Arrow file nor a stream, or damaged ({reason(error)})"
                choice = Choice("data_format", "says what it is")
                raise DataError(f"{source.path}: {why}", choice, is_choice=False) from error
        self.schema: pa.Schema = self._reader.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Yields:
            Record batches of the file's schema.

        """
        for batch in self._all():
            # Offsets that point outside would be read as they are: check what an untrusted file says.
            batch.validate(full=True)
            for start in range(0, batch.num_rows, self._batch_size):
                yield batch.slice(start, self._batch_size)

    def _all(self) -> Iterator[pa.RecordBatch]:
        if isinstance(self._reader, pa.ipc.RecordBatchFileReader):
            for i in range(self._reader.num_record_batches):
                yield self._reader.get_batch(i)
        else:
            yield from self._reader
