"""Samples from one or more files of any format, read a batch at a time: all rows, or the chosen ones."""

from __future__ import annotations

import hashlib
import lzma
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from promptpress import DataError, RenderError
from promptpress.engine import core as _core
from promptpress.engine.configs import STDIN, is_remote, missing
from promptpress.engine.errors import reason
from promptpress.engine.tables import batch_rows, core_schema, table_bytes
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.files.read.columnar_inputs import BATCH_ROWS, ArrowInput, ParquetInput, RowGroup
from promptpress_workbench.files.read.formats import (
    ALL_ROWS,
    DataFormat,
    HarnessTypes,
    RowChoice,
    find_files,
    input_format,
)
from promptpress_workbench.files.read.json_rows import JsonRows
from promptpress_workbench.files.read.row_filter import RowFilter
from promptpress_workbench.files.read.sources import FileState, Source, changed, identity, state_of, why
from promptpress_workbench.threads import Threads

Batches = Callable[[], Iterable[pa.RecordBatch]]


class SampleFile(Protocol):
    """A file of samples as record batches of one schema; `num_rows` is None if only reading tells it."""

    schema: pa.Schema
    num_rows: int | None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows; an error of the data is a `DataError` with its place."""


class ChosenRows:
    """The chosen rows of a table that is read batch by batch, and their numbers in the whole table.

    `limit` counts before a sample is drawn. The table is read once more for a sample if its rows aren't known.
    """

    def __init__(
        self, choice: RowChoice, limit: int | None, schema: pa.Schema, read: Batches, num_rows: int | None
    ) -> None:
        self._choice = choice
        self._limit = limit
        self._read = read
        self._filter = None if choice.where is None else RowFilter(choice.where, schema, read)
        self._table_rows = num_rows
        self._count: int | None = None
        self._drawn: list[int] | None = None
        self._masks: list[tuple[int, int, pa.Array]] = []
        """The first chosen row, the first row of the table, and the mask of each batch with chosen rows."""

    @property
    def num_rows(self) -> int | None:
        """The number of chosen rows, if it is known before the rows are read."""
        if self._filter is not None or self._table_rows is None:
            return None
        return min(n for n in (self._table_rows, self._limit, self._choice.sample) if n is not None)

    def count(self) -> int:
        """Return the number of chosen rows; unless it is known, the table is read once."""
        if self._count is None:
            self._count = sum(batch.num_rows for batch in self.batches()) if self.num_rows is None else self.num_rows
        return self._count

    def batches(self, read: Batches | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the chosen rows; `read` replaces the table by one whose columns have other encodings."""
        read = self._read if read is None else read
        if self._choice.sample is None:
            yield from self._before_sampling(read)
            return
        if self._drawn is None:
            self._drawn = self._draw(self._choice.sample)
        drawn, first, done = self._drawn, 0, 0
        for batch in read() if drawn else ():
            end = bisect_left(drawn, first + batch.num_rows, done)
            if end > done:
                yield batch_rows(batch, pa.array([row - first for row in drawn[done:end]], pa.int64()))
            done, first = end, first + batch.num_rows
            if done == len(drawn):
                return

    def number(self, row: int) -> int:
        """Return the number in the whole table of a chosen row that was read."""
        return self._filtered_number(row) if self._drawn is None else self._drawn[row]

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Return the numbers in the whole table of chosen rows that were read; null stays null."""
        if len(rows) and self._drawn is None and self._filter is not None and not rows.null_count:
            low, high = pc.min(rows).as_py(), pc.max(rows).as_py()
            index = self._mask_index(low)
            begin, first, mask = self._masks[index]
            if self._mask_index(high) == index:  # the rows of one batch, which is the usual case
                chosen = pc.indices_nonzero(mask).take(pc.subtract(rows, begin))
                return pc.add(chosen.cast(pa.int64()), first)
        return pa.array([None if row is None else self.number(row) for row in rows.to_pylist()], pa.int64())

    def position(self, number: int) -> int | None:
        """Return the position among the chosen rows of a row of the whole table; None if it isn't chosen."""
        rows = range(self.count())
        if self._choice.sample is not None and self._drawn is None:
            self._drawn = self._draw(self._choice.sample)
        row = bisect_left(rows, number, key=self.number)
        return row if row < len(rows) and self.number(row) == number else None

    def _draw(self, count: int) -> list[int]:
        rows = self._table_rows
        if self._filter is not None or rows is None:
            rows = sum(batch.num_rows for batch in self._before_sampling(self._read))
        elif self._limit is not None:
            rows = min(rows, self._limit)
        drawn = sampled_rows(rows, count, self._choice.seed)
        return drawn if self._filter is None else [self._filtered_number(row) for row in drawn]

    def _before_sampling(self, read: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the rows that `where` and `limit` keep."""
        left, first, begin = self._limit, 0, 0
        self._masks = []
        for batch in read() if left != 0 else ():
            kept = batch
            if self._filter is not None:
                rows = self._filter.rows(batch)[:left]
                kept = batch_rows(batch, rows)
                if len(rows):
                    every_row = _core.repeated_rows(0, batch.num_rows, 1)
                    self._masks.append((begin, first, pc.is_in(every_row, value_set=rows)))
            elif left is not None:
                kept = batch.slice(0, left)
            if kept.num_rows:
                yield kept
            first, begin = first + batch.num_rows, begin + kept.num_rows
            if left is not None:
                left -= kept.num_rows
                if left == 0:
                    return

    def _mask_index(self, row: int) -> int:
        return max(bisect_right(self._masks, row, key=lambda mask: mask[0]) - 1, 0)

    def _filtered_number(self, row: int) -> int:
        if self._filter is None:
            return row
        begin, first, mask = self._masks[self._mask_index(row)]
        return first + int(pc.indices_nonzero(mask)[row - begin].as_py())


def sampled_rows(rows: int, count: int, seed: int) -> list[int]:
    """Draw some of so many rows at random, none twice, and return their numbers in order."""
    return sorted(random.Random(seed).sample(range(rows), min(rows, count)))


class Samples:
    """The rows of some files with one schema, as a stream of record batches.

    If a consumer pulls batches through Arrow's C stream, an error reaches it as bare text; `error` keeps the exception.
    `otherwise` is the format of files whose suffix is of none. Damaged row groups of Parquet are left out, and listed
    by `skipped`, if `skip_corrupt` is true; it is None if the caller has no such option.
    """

    def __init__(
        self,
        paths: Sequence[str],
        data_format: DataFormat | str | None = None,
        batch_size: int | None = None,
        limit: int | None = None,
        *,
        choice: RowChoice = ALL_ROWS,
        otherwise: str | None = None,
        skip_corrupt: bool | None = None,
        harness_types: HarnessTypes | None = None,
    ) -> None:
        self.error: BaseException | None = None
        self.skipped: list[RowGroup] = []
        self._given = DataFormat.of(data_format)
        self._skip_corrupt = skip_corrupt
        self._harness_types = harness_types
        self._states: dict[str, FileState | None] = {}
        self.batch_size = batch_size
        self._otherwise = otherwise
        self._limit = limit
        self._stack = ExitStack()
        self._files: list[tuple[str, SampleFile]] = []
        try:
            self._open(paths, self._given.name)
        except BaseException:
            self._stack.close()
            raise
        self.schema = self._common_schema()
        self.metadata: dict[bytes, bytes] = {}
        """The metadata of all files together."""
        for _, file in self._files:
            self.metadata |= file.schema.metadata or {}
        counts = [file.num_rows for _, file in self._files]
        self.num_rows = None if None in counts else sum(c for c in counts if c is not None)
        self.chosen: ChosenRows | None = None
        """The chosen rows, if rows are left out between them."""
        if choice.skips:
            self._limit = None
            read = partial(self._file_batches, 0, self.schema, set())
            self.chosen = ChosenRows(choice, limit, self.schema, read, self.num_rows)
            self.num_rows = self.chosen.num_rows
        elif limit is not None:
            self.num_rows = limit if self.num_rows is None else min(self.num_rows, limit)

    def _open(self, paths: Sequence[str], data_format: str | None) -> None:
        matches: list[tuple[str, str]] = []
        for path in paths:
            with reading(path):
                new = find_files(path, data_format)
            if path == STDIN and STDIN in (name for name, _ in matches):
                raise DataError("standard input is named twice; it can be read once", is_choice=True)
            matches += [(name, input_format(name, kind or data_format, self._otherwise)) for name, kind in new]
        for name, kind in matches:
            self._files.append((name, self._open_file(name, kind)))
        files = [file for _, file in self._files if isinstance(file, JsonRows)]
        JsonRows.agree(files)
        # Files of other formats have one type of Arrow for each column, and all files have the same.
        if files and (self._harness_types or len(files) < len(self._files)):
            from promptpress_workbench.files.read.harness_types import typed  # noqa: PLC0415 - most runs need no such types

            with reading(files[0].path):
                typed_files = iter(typed(files))
            self._files = [
                (name, next(typed_files) if isinstance(file, JsonRows) else file) for name, file in self._files
            ]

    def _open_file(self, path: str, kind: str) -> SampleFile:
        self._states[path] = state_of(path)
        with reading(path):
            file = self._opened(Source(path, self._stack, self._given.encoding), kind)
            core_schema(file.schema)  # names are any bytes in a file
        if isinstance(file, ParquetInput):
            self.skipped += file.skipped
        return file

    def _opened(self, source: Source, kind: str) -> SampleFile:
        if kind == "parquet":
            return ParquetInput(source, self.batch_size, skip_corrupt=self._skip_corrupt)
        batch_size = self.batch_size or BATCH_ROWS
        if kind == "arrow":
            return ArrowInput(source, batch_size)
        if kind in ("json", "jsonl"):
            is_array = kind == "json"
            return JsonRows(source, batch_size, is_array=is_array, records=self._given.records if is_array else None)
        from promptpress_workbench.files.read.csv_files import SeparatedValues, TypedValues  # noqa: PLC0415 - seldom needed

        given = self._given.delimiter
        delimiter = given or ("," if kind == "csv" else "\t")
        texts = SeparatedValues(source, batch_size, delimiter, is_given=given is not None)
        return TypedValues(texts) if self._harness_types == "all" else texts

    def _common_schema(self) -> pa.Schema:
        first_path, first = self._files[0]
        for path, file in self._files[1:]:
            if not file.schema.equals(first.schema):
                raise DataError(f"{path}: {_difference(first.schema, file.schema)} as in {first_path}")
        return first.schema.remove_metadata()

    @property
    def has_times(self) -> bool:
        """True if texts of JSON look like times, which the harnesses' reader takes them for."""
        return any(getattr(file, "has_times", False) for _, file in self._files)

    def identity(self) -> list[dict[str, Any]]:
        """Return JSON values that identify the content of each file in a later run."""
        out = []
        for path, _ in self._files:
            with reading(path):
                out.append(identity(path))
        return out

    def parquet_files(self) -> list[tuple[str, pq.ParquetFile]]:
        """List the files with their paths if all of them are Parquet; else an empty list."""
        files = [(path, file.file) for path, file in self._files if isinstance(file, ParquetInput)]
        return files if len(files) == len(self._files) else []

    def reader(
        self, count: Callable[[int], object] = int, first: int = 0, dictionaries: Collection[str] = ()
    ) -> pa.RecordBatchReader:
        """Open the stream over all files from a row on; a reader can be consumed once.

        `count` gets the rows of each batch, when the next one is asked for. Texts in columns of `dictionaries` may come
        as dictionaries, if all files store them like this.
        """
        schema, encoded = self.schema, set[str]()
        if dictionaries:
            stored = [file.repetitive(dictionaries) for _, file in self._files if isinstance(file, ParquetInput)]
            encoded = set.intersection(*stored) if len(stored) == len(self._files) else encoded
        for name in encoded:
            index = schema.get_field_index(name)
            schema = schema.set(index, schema.field(index).with_type(pa.dictionary(pa.int32(), pa.string())))
        return pa.RecordBatchReader.from_batches(schema, self._batches(count, first, schema, encoded))

    def table(self) -> pa.Table:
        return pa.Table.from_batches(list(self._batches(int, 0, self.schema, set())), self.schema)

    def _batches(
        self, count: Callable[[int], object], first: int, schema: pa.Schema, dictionaries: set[str]
    ) -> Iterator[pa.RecordBatch]:
        try:
            if self.chosen is None:
                batches = self._file_batches(first, schema, dictionaries)
            else:
                batches = _from_row(first, self.chosen.batches(lambda: self._file_batches(0, schema, dictionaries)))
            for batch in batches:
                yield batch
                count(batch.num_rows)
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise

    def _file_batches(self, first: int, schema: pa.Schema, dictionaries: set[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files from a row on, up to the limit."""
        left = None if self._limit is None else self._limit - first
        for path, file in self._files:
            if 0 < (file.num_rows or 0) <= first:
                first -= file.num_rows or 0
                continue
            begin = file.begin(first) if isinstance(file, ParquetInput) else 0
            first -= begin
            for batch in self._batches_of(path, file, begin, dictionaries):
                if batch.num_rows <= first:
                    first -= batch.num_rows
                    continue
                kept = batch.slice(first, left)
                first = 0
                if left is not None:
                    left -= kept.num_rows
                if kept.num_rows:
                    yield pa.RecordBatch.from_arrays(kept.columns, schema=schema)
                if left == 0:
                    return

    def _batches_of(self, path: str, file: SampleFile, first: int, dictionaries: set[str]) -> Iterator[pa.RecordBatch]:
        """Read a file, Parquet from a row on; raise `DataError` if it has changed since it was opened."""
        state = self._states[path]
        try:
            with reading(path):
                if isinstance(file, ParquetInput):
                    yield from _ahead(file.batches(first, dictionaries))
                else:
                    yield from _ahead(file.batches())
        except DataError as error:
            if (why_not := changed(path, state)) is not None:
                raise DataError(f"{error}; the file has changed while it was read: {why_not}") from error
            raise
        # A file that was deleted while it was open has been read to its end.
        if (why_not := changed(path, state)) is not None and state_of(path) is not None:
            raise DataError(f"{path}: the file has changed while it was read: {why_not}")

    def close(self) -> None:
        self._stack.close()


class TableSamples:
    """Samples in memory, with the interface of `Samples`."""

    def __init__(
        self, table: pa.Table, batch_size: int | None, limit: int | None = None, choice: RowChoice = ALL_ROWS
    ) -> None:
        self.chosen: ChosenRows | None = None
        if choice.skips:
            self.chosen = ChosenRows(choice, limit, table.schema, table.to_batches, table.num_rows)
            table = pa.Table.from_batches(self.chosen.batches(), table.schema)
        else:
            table = table.slice(0, limit)
        self._table = table
        self.batch_size = batch_size
        self.schema: pa.Schema = table.schema
        self.num_rows: int | None = table.num_rows
        self.error: BaseException | None = None
        self.skipped: list[RowGroup] = []
        self.metadata: dict[bytes, bytes] = {}

    def reader(self, count: Callable[[int], object] = int, first: int = 0) -> pa.RecordBatchReader:
        """Return a stream of the samples from the row `first` on; `count` gets the size of each batch after its use."""

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._table.slice(first).to_batches(self.batch_size or BATCH_ROWS):
                yield batch
                count(batch.num_rows)

        return pa.RecordBatchReader.from_batches(self.schema, batches())

    def close(self) -> None:
        """Do nothing: there is no file."""

    def identity(self) -> list[dict[str, Any]]:
        """Return the number and the digest of the rows, by which a later run recognises them."""
        digest = hashlib.sha256(table_bytes(self._table)).hexdigest()
        return [{"rows": self._table.num_rows, "content": digest[:32]}]

    def table(self) -> pa.Table:
        return self._table


AnySamples: TypeAlias = Samples | TableSamples


def example_rows(
    paths: Sequence[str], data_format: DataFormat | str | None, harness_types: HarnessTypes | None = None
) -> pa.Table | None:
    """Read the rows of examples, or return None without files; a format's name is only for files without a suffix.

    `harness_types` is that of `Samples`.
    """
    if not paths:
        return None
    given = DataFormat.of(data_format)
    unnamed = given._replace(name=None)
    with closing(Samples(paths, unnamed, otherwise=given.name, harness_types=harness_types)) as samples:
        return samples.table()


def _from_row(first: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if first < batch.num_rows:
            yield batch.slice(first)
        first = max(first - batch.num_rows, 0)


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the next batch in a thread while the consumer works on the last."""
    thread = Threads(1)
    coming = thread.submit(next, batches, None)
    try:
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
    finally:
        # Wait for the batch, but not for the thread. The garbage collector may call this at any time, for example
        # while another thread starts; joining a thread would wait for a lock of that start.
        coming.wait()
        thread.close()


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn any error of reading a file into a `DataError` that names the file."""
    try:
        yield
    except pa.ArrowMemoryError as error:  # a MemoryError too; a damaged file may ask for any amount
        message = f"{path}: out of memory ({reason(error)}); it is damaged, or one of its batches is larger than memory"
        raise DataError(message) from error
    except (DataError, MemoryError):
        raise
    except Exception as error:
        if is_remote(path) and not isinstance(error, (pa.ArrowInvalid, RenderError)):
            raise DataError(f"{path}: {why(error)}") from error  # the packages for addresses have their own exceptions
        if isinstance(error, OSError):
            raise DataError(f"{path}: {missing(path, error)}") from error
        if not isinstance(error, (pa.ArrowException, ValueError, EOFError, lzma.LZMAError)):
            raise
        raise DataError(f"{path}: {reason(error)}") from error


def _difference(expected: pa.Schema, actual: pa.Schema) -> str:
    for name in expected.names:
        if name not in actual.names:
            return f"lacks the column {name!r}"
    for field in actual:
        if field.name not in expected.names:
            return f"has a column {field.name!r}, not so"
        other = expected.field(expected.names.index(field.name)).type
        if field.type != other:
            return f"column {field.name!r} is {field.type}, not {other}"
    if actual.names != expected.names:
        return f"the columns stand in the order {', '.join(actual.names)}, not {', '.join(expected.names)}"
    return "the fields' nullability isn't"
