"""Samples from one or more files of any format, read a batch at a time; the one entrance to this folder."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from promptpress import DataError
from promptpress.engine.configs import STDIN, is_remote, missing
from promptpress.engine.core import RenderError
from promptpress.engine.errors import reason
from promptpress.engine.tables import core_schema

from promptpress_workbench.files.read.chosen_rows import ALL_ROWS, ChosenRows, RowChoice
from promptpress_workbench.files.read.columnar_inputs import ParquetInput, RowGroup
from promptpress_workbench.files.read.file_state import FileState, changed, identity, state_of
from promptpress_workbench.files.read.find_files import find_files
from promptpress_workbench.files.read.formats import (
    FORMATS,
    DataFormat,
    HarnessTypes,
    ReadOptions,
    SampleFile,
    input_format,
)
from promptpress_workbench.files.read.json_rows import JsonRows
from promptpress_workbench.files.read.remote import why
from promptpress_workbench.files.read.sources import Source
from promptpress_workbench.threads import Threads


class Samples:
    """The rows of some files with one schema, as a stream of record batches.

    If a consumer pulls batches through Arrow's C stream, an error reaches it as bare text; `error` keeps the exception.
    """

    def __init__(
        self,
        paths: Sequence[str],
        data_format: DataFormat | str | None = None,
        batch_size: int = 65536,
        limit: int | None = None,
        *,
        choice: RowChoice = ALL_ROWS,
        otherwise: str | None = None,
        skip_corrupt: bool | None = None,
        harness_types: HarnessTypes | None = None,
    ) -> None:
        self.error: BaseException | None = None
        self.skipped: list[RowGroup] = []
        given = DataFormat.of(data_format)
        self._options = ReadOptions(batch_size, given, skip_corrupt, harness_types)
        self._states: dict[str, FileState | None] = {}
        self.batch_size = batch_size
        self._otherwise = otherwise
        self._limit = limit
        self._stack = ExitStack()
        self._files: list[tuple[str, SampleFile]] = []
        try:
            self._open(paths, given.name)
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
        if files and (self._options.harness_types or len(files) < len(self._files)):
            from promptpress_workbench.files.read.harness_types import typed  # noqa: PLC0415 - most runs need no such types

            with reading(files[0].path):
                typed_files = iter(typed(files))
            self._files = [
                (name, next(typed_files) if isinstance(file, JsonRows) else file) for name, file in self._files
            ]

    def _open_file(self, path: str, kind: str) -> SampleFile:
        self._states[path] = state_of(path)
        with reading(path):
            file = FORMATS[kind].open(Source(path, self._stack, self._options.given.encoding), self._options)
            core_schema(file.schema)  # names are any bytes in a file
        if isinstance(file, ParquetInput):
            self.skipped += file.skipped
        return file

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
        """Open the stream over all files; a reader can be consumed once."""
        schema, encoded = self.schema, set[str]()
        if dictionaries:
            stored = [file.repetitive(dictionaries) for _, file in self._files if isinstance(file, ParquetInput)]
            encoded = set.intersection(*stored) if len(stored) == len(self._files) else encoded
        for name in encoded:
            index = schema.get_field_index(name)
            schema = schema.set(index, schema.field(index).with_type(pa.dictionary(pa.int32(), pa.string())))
        return pa.RecordBatchReader.from_batches(schema, self._batches(count, first, schema, encoded))

    def table(self) -> pa.Table:
        """Read all rows into one table."""
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
    """Yield the rows of batches from a row on."""
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
