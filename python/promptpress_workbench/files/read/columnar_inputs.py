"""Parquet and Arrow IPC files as record batches."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from errno import EIO
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from promptpress import DataError
from promptpress.engine.configs import is_remote
from promptpress.engine.errors import Choice, reason
from promptpress.engine.tables import bytes_of

from promptpress_workbench.files.read.sources import Source

BATCH_ROWS = 1 << 16
"""The most rows of a batch, unless another number is asked for."""

_BATCH_BYTES = 16 << 20
"""The rows of a batch of Parquet are fewer, by powers of two, if they would be larger than this."""

_READ_BYTES = 1 << 20
"""So much of each column is read from disk at a time: by itself pyarrow would hold the whole file, compressed."""

_PROBE_ROWS = 1 << 10
"""The rows that are read to see how large they are: their texts may be stored once for many."""

_NUMBER_BYTES = 4
"""The largest size of a value in a file, with its share of the texts, if the column is stored as a dictionary."""


class RowGroup(NamedTuple):
    """A damaged part of a Parquet file: its number, its first row and its number of rows."""

    path: str
    number: int
    first: int
    rows: int
    why: str

    def __str__(self) -> str:
        rows = f"rows {self.first:,} to {self.first + self.rows - 1:,}"
        return f"{self.path}: row group {self.number} ({rows}) is damaged: {self.why}"


class ParquetInput:
    """One Parquet file, read in advance to `skip_corrupt` row groups, which is None without such an option.

    Without a `batch_size`, batches have so many rows as fit `_BATCH_BYTES`.
    """

    def __init__(self, source: Source, batch_size: int | None, *, skip_corrupt: bool | None = None) -> None:
        self._path = source.path
        self._hint = "--skip-corrupt leaves it out" if skip_corrupt is not None else ""
        # If the file is replaced meanwhile, the old one is still read, because it stays open.
        self._opened = _open_file(source)
        self._reading: dict[str, Any] = {"page_checksum_verification": True}
        if not is_remote(source.path):
            self._reading |= {"pre_buffer": False, "buffer_size": _READ_BYTES}
        self.file = source.stack.enter_context(pq.ParquetFile(self._opened, **self._reading))
        self.schema: pa.Schema = self.file.schema_arrow
        metadata = self.file.metadata
        self._counts = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        self._groups = list(range(len(self._counts)))
        self._given_batch_size = batch_size
        self.skipped: list[RowGroup] = []
        """The row groups that are left out."""
        if skip_corrupt:
            self.skipped = [damage for n in self._groups if (damage := self._damage(n)) is not None]
            self._groups = sorted({*self._groups} - {damage.number for damage in self.skipped})
        self.num_rows: int | None = sum(self._counts[n] for n in self._groups)

    @cached_property
    def _batch_size(self) -> int:
        """The rows of a batch: as given, or by the sizes that the file says and by its first rows."""
        if self._given_batch_size is not None:
            return self._given_batch_size
        groups = [self.file.metadata.row_group(n) for n in self._groups if self._counts[n]]
        size = max((group.total_byte_size / group.num_rows for group in groups), default=0.0)
        with contextlib.suppress(pa.ArrowException, OSError, StopIteration):  # reading the rows says what is wrong
            first = next(self.file.iter_batches(_PROBE_ROWS))
            size = max(size, bytes_of(first) / max(first.num_rows, 1))
        rows = BATCH_ROWS
        while rows > 1 and rows * size > _BATCH_BYTES:
            rows //= 2
        return rows

    def begin(self, first: int) -> int:
        """Return the last row up to `first` where a row group and a batch of a reader of the whole file begin."""
        starts = self._starts()
        return max((start for start in starts if start <= first and start % self._batch_size == 0), default=0)

    def repetitive(self, names: Collection[str]) -> set[str]:
        """Return the columns whose texts the file stores once, with numbers: dictionaries are less work to read."""
        # Each row group has its own dictionary, and a batch has only one, so batches would end where row groups do.
        if not self._groups or any(self._counts[n] % self._batch_size for n in self._groups[:-1]):
            return set()
        metadata = self.file.metadata
        sampled_groups = {self._groups[0], self._groups[len(self._groups) // 2], self._groups[-1]}
        out = set()
        for n in range(metadata.num_columns):
            name = metadata.schema.column(n).path  # with dots for a field within another
            index = self.schema.get_field_index(name)  # -1 if several columns have the name
            if name in names and "." not in name and index >= 0 and self.schema.field(index).type == pa.string():
                columns = [metadata.row_group(group).column(n) for group in sampled_groups]
                values = sum(column.num_values for column in columns)
                if sum(column.total_uncompressed_size for column in columns) <= _NUMBER_BYTES * values:
                    out.add(name)
        return out

    def batches(self, first: int = 0, dictionaries: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read the rows from a row of `begin` on, with some columns of `repetitive` as dictionaries."""
        starts = self._starts()
        row = first
        file = self.file
        if dictionaries:
            file = pq.ParquetFile(
                self._opened, metadata=file.metadata, read_dictionary=sorted(dictionaries), **self._reading
            )
        try:
            for batch in file.iter_batches(self._batch_size, row_groups=self._groups[starts.index(first) :]):
                yield batch
                row += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            for n, end in zip(self._groups, starts[1:], strict=True):
                if end > row and (damage := self._damage(n)) is not None:
                    raise DataError(str(damage), for_command=self._hint) from error
            raise

    def _starts(self) -> list[int]:
        """Return the first row of each row group, and the end of the last one."""
        return list(accumulate((self._counts[n] for n in self._groups), initial=0))

    def _damage(self, number: int) -> RowGroup | None:
        """Read a row group; describe it if it is damaged."""
        try:
            for _ in self.file.iter_batches(self._batch_size, row_groups=[number]):
                pass
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (None, EIO):
                raise  # the system can't read the file, which needn't be damaged
            first = sum(self._counts[:number])
            return RowGroup(self._path, number, first, self._counts[number], reason(error))
        return None


class ArrowInput:
    """One Arrow IPC file in either form, the file form with an index or the stream form; the first bytes tell which."""

    def __init__(self, source: Source, batch_size: int) -> None:
        file = _open_file(source)
        self._batch_size = batch_size
        self.num_rows: int | None = None
        self._reader: Any
        if file.read(6) == b"ARROW1":
            file.seek(0)
            self._reader = source.stack.enter_context(pa.ipc.open_file(file))
        else:
            file.seek(0)
            try:
                self._reader = source.stack.enter_context(pa.ipc.open_stream(file))
            except pa.ArrowInvalid as error:
                why = f"neither an Arrow file nor a stream, or damaged ({reason(error)})"
                choice = Choice("data_format", "says what it is")
                raise DataError(f"{source.path}: {why}", choice, is_choice=False) from error
        self.schema: pa.Schema = self._reader.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        reader = self._reader
        is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            # Arrow doesn't check offsets, which may point outside the buffers if the file is untrusted.
            batch.validate(full=True)
            for start in range(0, batch.num_rows, self._batch_size):
                yield batch.slice(start, self._batch_size)


def _open_file(source: Source) -> Any:
    """Open a source for random access, as a file of pyarrow's."""
    file = source.open_anywhere()
    return source.stack.enter_context(pa.OSFile(file, "rb")) if isinstance(file, str) else file
