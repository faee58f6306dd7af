"""Samples in files, which stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import DataError
from promptpress._inputs.samples import Samples, reading
from promptpress._view.sample_rows import check_row

__all__ = ["FileRows"]

_BLOCK = 4096
"""Rows that are decoded at a time on the way to one."""


class FileRows:
    """The rows of files, which stay where they are.

    One row is found by what the files say of themselves: of Parquet the row groups before it aren't read. Rows that
    are asked for in ascending order are found on one way through the files.

    Args:
        paths: The files, of one schema.
        data_format: As `promptpress._inputs.samples.Samples` takes it; by the suffix when None.
        batch_size: Rows a batch, at most.

    Raises:
        DataError: If a file can't be read, or the files' columns differ.
        UsageError: For an unknown suffix.

    """

    def __init__(self, paths: Sequence[str], data_format: str | None = None, batch_size: int = 65536) -> None:
        self._paths = list(paths)
        self._format = data_format
        self._batch_size = batch_size
        self._samples = Samples(self._paths, data_format, batch_size)
        self.schema: pa.Schema = self._samples.schema
        self._num_rows = self._samples.num_rows
        self._groups = self._row_groups()
        self._block: tuple[int, pa.RecordBatch] | None = None
        self._following: Iterator[tuple[int, pa.RecordBatch]] = iter(())

    @property
    def num_rows(self) -> int:
        """How many rows there are; a format that doesn't say so is read once."""
        if self._num_rows is None:
            self._num_rows = sum(batch.num_rows for batch in self.batches())
        return self._num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through all rows."""
        samples = Samples(self._paths, self._format, self._batch_size)
        try:
            yield from samples.reader()
        except pa.ArrowException:
            raise (samples.error or DataError(f"{self._paths[0]}: can't be read")) from None
        finally:
            samples.close()

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all rows; of Parquet files no other."""
        kind, at = self.schema.field(name).type, self.schema.get_field_index(name)
        if not self._groups:
            return pa.chunked_array([batch.column(at) for batch in self.batches()], kind)
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
        """Go through blocks of rows with the number of their first, from some row before `number` on."""
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
        """The place among the row groups of the one that holds a row."""
        at = 0
        while at + 1 < len(self._groups) and self._groups[at + 1][0] <= number:
            at += 1
        return at

    def _row_groups(self) -> list[tuple[int, str, pq.ParquetFile, int]]:
        """First row, file and number of each row group, where all files are Parquet; nothing where not all are."""
        files = [(path, getattr(file, "_file", None)) for path, file in self._samples._files]
        out, first = [], 0
        for path, file in files:
            if not isinstance(file, pq.ParquetFile):
                return []
            for group in range(file.metadata.num_row_groups):
                out.append((first, path, file, group))
                first += file.metadata.row_group(group).num_rows
        return out

    def close(self) -> None:
        """Close the files."""
        self._samples.close()
