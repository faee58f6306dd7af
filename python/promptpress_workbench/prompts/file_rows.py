"""Rows of files, read from disk when they are needed, and chosen rows, which keep their numbers of the whole data."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from promptpress import DataError
from promptpress.engine.errors import render_error

from promptpress_workbench.files.read.formats import DataFormat
from promptpress_workbench.files.read.samples import ChosenRows, Samples, reading
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import RequestBatch, RowEngine, SampleRows, check_row
from promptpress_workbench.prompts.renderer_source import RendererSource, TemplateSource

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BLOCK = 4096
"""Rows that are decoded at once on the way to a row."""


class FileRows:
    """The rows of files of one schema, read from disk when they are needed.

    A single row is found by the files' own index: of Parquet, the row groups before it aren't read. Rows in ascending
    order are found in one pass over the files. `data_format` and `options` are those of `Samples`.
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
        samples = Samples(self._paths, self._format, **self._options)
        try:
            yield from samples.reader()
        except pa.ArrowException:
            raise (samples.error or DataError(f"{self._paths[0]}: can't be read")) from None
        finally:
            samples.close()

    def column(self, name: str) -> pa.ChunkedArray:
        kind, index = self.schema.field(name).type, self.schema.get_field_index(name)
        if not self._groups:
            return pa.chunked_array([batch.column(index) for batch in self.batches()], kind)
        chunks = []
        for path, file in {path: file for _, path, file, _ in self._groups}.items():
            with reading(path):
                chunks += file.read([name]).column(0).cast(kind).chunks
        return pa.chunked_array(chunks, kind)

    def row(self, number: int) -> pa.Table:
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


class ChosenSampleRows:
    """The chosen rows of a table, numbered from 0, as `SampleRows`."""

    def __init__(self, rows: SampleRows, chosen: ChosenRows) -> None:
        self.rows = rows
        self.chosen = chosen
        self.schema: pa.Schema = rows.schema

    @property
    def num_rows(self) -> int:
        return self.chosen.count()

    def row(self, number: int) -> pa.Table:
        check_row(number, self.num_rows)
        return self.rows.row(self.chosen.number(number))

    def batches(self) -> Iterator[pa.RecordBatch]:
        return self.chosen.batches()

    def column(self, name: str) -> pa.ChunkedArray:
        index = self.schema.get_field_index(name)
        return pa.chunked_array([batch.column(index) for batch in self.batches()], self.schema.field(index).type)


class ChosenSource:
    """The prompts of a source of `ChosenSampleRows`, with the rows' numbers of the whole table.

    What goes by a sample's position, such as a retriever's draw of examples, counts the chosen rows.
    """

    def __init__(self, source: RendererSource | TemplateSource, chosen: ChosenRows) -> None:
        self.source = source
        self.has_origins = source.has_origins
        self.chosen = chosen

    @property
    def labels(self) -> list[Any] | None:
        return self.source.labels

    @property
    def num_samples(self) -> int:
        return self.source.num_samples

    def row_number(self, position: int) -> int:
        """Return the number in the whole table of one of the chosen rows."""
        check_row(position, self.chosen.count())
        return self.chosen.number(position)

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        prompts = self.source.prompts(self._position(row), label, turn)
        return [replace(prompt, sample=row) for prompt in prompts]

    def row_engine(self, row: int) -> RowEngine | None:
        return self.source.row_engine(self._position(row))

    def divergent_columns(self, row: int) -> list[str]:
        return self.source.divergent_columns(self._position(row)) if isinstance(self.source, RendererSource) else []

    def requests(self) -> Iterator[RequestBatch]:
        for batch in self.source.requests():
            yield replace(batch, samples=self.chosen.numbers(batch.samples))

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        return self.source.request(value, sample, label, turn)

    def _position(self, row: int) -> int:
        position = self.chosen.position(row)
        if position is None:
            message = "the row isn't among the chosen ones; rows have the numbers of the whole data, from 0"
            raise render_error("row_out_of_range", message, row=row)
        return position
