"""Parquet and Arrow IPC as record batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from errno import EIO
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import Choice, DataError, reason
from promptpress._inputs.sources import Source

_NUMBER_BYTES = 4
"""So few bytes a value, its share of the texts among them, are those of numbers in a dictionary."""


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
        opened = source.open_anywhere()
        # One that is replaced meanwhile is read to its end, however often a reader of it is made.
        self._opened: Any = stack.enter_context(pa.OSFile(opened, "rb")) if isinstance(opened, str) else opened
        self._file = stack.enter_context(pq.ParquetFile(self._opened, page_checksum_verification=True))
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

    def repetitive(self, names: Collection[str]) -> set[str]:
        """Say which columns of texts can come as dictionaries, with less work and in batches of the same rows.

        Args:
            names: columns that may.

        Returns:
            Those whose texts the file has once each, with numbers for the rows.

        """
        # A dictionary is a row group's own, and a batch has one: it would end where a row group does.
        if not self._groups or any(self._counts[n] % self._batch_size for n in self._groups[:-1]):
            return set()
        metadata = self._file.metadata
        looked_at = {self._groups[0], self._groups[len(self._groups) // 2], self._groups[-1]}
        found = set()
        for n in range(metadata.num_columns):
            name = metadata.schema.column(n).path  # of a field within another it has dots
            at = self.schema.get_field_index(name)  # -1 where several have it
            if name in names and "." not in name and at >= 0 and self.schema.field(at).type == pa.string():
                columns = [metadata.row_group(group).column(n) for group in looked_at]
                values = sum(column.num_values for column in columns)
                if sum(column.total_uncompressed_size for column in columns) <= _NUMBER_BYTES * values:
                    found.add(name)
        return found

    def batches(self, first: int = 0, dictionaries: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Args:
            first: the row to begin with, as `begin` gives it.
            dictionaries: columns that are to come as dictionaries, of those that `repetitive` gives.

        Yields:
            Record batches of the file's schema.

        Raises:
            DataError: when a row group is damaged.

        """
        starts = list(accumulate((self._counts[n] for n in self._groups), initial=0))
        at = first
        file = self._file
        if dictionaries:
            file = pq.ParquetFile(
                self._opened,
                metadata=file.metadata,
                read_dictionary=sorted(dictionaries),
                page_checksum_verification=True,
            )
        try:
            for batch in file.iter_batches(self._batch_size, row_groups=self._groups[starts.index(first) :]):
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
