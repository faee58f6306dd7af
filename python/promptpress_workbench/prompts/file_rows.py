"""Samples in files, read from disk when they are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from promptpress import DataError

from promptpress_workbench.files.read.formats import DataFormat
from promptpress_workbench.files.read.samples import Samples, reading
from promptpress_workbench.prompts.sample_rows import check_row

_BLOCK = 4096
"""Rows that are decoded at once on the way to a row."""


class FileRows:
    """The rows of files of one schema, read from disk when they are needed.

    A single row is found by the files' own index: of Parquet, the row groups before it aren't read. Rows in ascending
    order are found in one pass over the files. `data_format` and `options` are those of `Samples`.

    Raises:
        DataError: If a file can't be read, or the files' columns differ.
        UsageError: For an unknown suffix.

    """

    def __init__(self, paths: Sequence[str], data_format: DataFormat | str | None = None, **options: Any) -> None:
        self._paths = list(paths)
        self._format = data_format
        self._options = options
        self._samples = Samples(self._paths, data_format, **options)
        self.schema: pa.Schema = self._samples.schema
        self._num_rows = self._samples.num_rows
        self._groups = self._row_groups()
        self._block: tuple[int, pa.RecordBatch] | None = None
        self._following: Iterator[tuple[int, pa.RecordBatch]] = iter(())

    @property
    def num_rows(self) -> int:
        """The number of rows; a format that doesn't state it is read once."""
        if self._num_rows is None:
            self._num_rows = sum(batch.num_rows for batch in self.batches())
        return self._num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows."""
        samples = Samples(self._paths, self._format, **self._options)
        try:
            yield from samples.reader()
        except pa.ArrowException:
            raise (samples.error or DataError(f"{self._paths[0]}: can't be read")) from None
        finally:
            samples.close()

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all rows, and no other from Parquet files."""
        kind, index = self.schema.field(name).type, self.schema.get_field_index(name)
        if not self._groups:
            return pa.chunked_array([batch.column(index) for batch in self.batches()], kind)
        chunks = []
        for path, file in {path: file for _, path, file, _ in self._groups}.items():
            with reading(path):
                chunks += file.read([name]).column(0).cast(kind).chunks
        return pa.chunked_array(chunks, kind)

    def row(self, number: int) -> pa.Table:
        """Return one row."""
        if number < 0 or self._num_rows is not None:
            check_row(number, self.num_rows)
        block = self._block
        if block is None or number < block[0] or self._group_of(number) > self._group_of(block[0]):
            self._following = self._blocks_from(number)
            block = next(self._following, None)
        while block is not None and number >= block[0] + block[1].num_rows:
            block = next(self._following, None)
        self._block = block
        if block is None:
            check_row(number, self.num_rows)
            raise AssertionError(number)
        return pa.Table.from_batches([block[1].slice(number - block[0], 1)])

    def _blocks_from(self, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield blocks of rows after the numbers of their first rows, from a row at or before `number` on."""
        if not self._groups:
            first = 0
            for batch in self.batches():
                yield first, batch
                first += batch.num_rows
            return
        for begin, path, file, group in self._groups[self._group_of(number) :]:
            first = begin
            with reading(path):
                for batch in file.iter_batches(_BLOCK, [group]):
                    yield first, pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
                    first += batch.num_rows

    def _group_of(self, number: int) -> int:
        """Return the index of the row group that holds a row."""
        return max(bisect_right(self._groups, number, key=lambda group: group[0]) - 1, 0)

    def _row_groups(self) -> list[tuple[int, str, pq.ParquetFile, int]]:
        """Return the first row, file and number of each row group; nothing unless all files are Parquet."""
        out, first = [], 0
        for path, file in self._samples.parquet_files():
            for group in range(file.metadata.num_row_groups):
                out.append((first, path, file, group))
                first += file.metadata.row_group(group).num_rows
        return out
