"""Samples from files of any format, several in a row, a batch at a time."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa

from promptpress._core import RenderError
from promptpress._file_errors import DataError, reason
from promptpress._inputs.columnar_inputs import ArrowInput, ParquetInput, RowGroup
from promptpress._inputs.csv_input import SeparatedValues
from promptpress._inputs.file_state import FileState, changed, identity, state_of
from promptpress._inputs.formats import STDIN, written
from promptpress._inputs.found_files import found_files
from promptpress._inputs.jsonl_input import JsonLines
from promptpress._inputs.remote import why
from promptpress._inputs.sources import Source
from promptpress._places import is_remote, missing
from promptpress._tables import core_schema
from promptpress._threads import Threads


class Samples:
    """The rows of some files with one schema, as a stream of record batches.

    What goes wrong while a consumer pulls batches through Arrow's C stream reaches it as bare text; `error` keeps the
    exception itself.

    Args:
        paths: files, patterns, folders, saved datasets or addresses, in order; `-` is standard input.
        data_format: one of `promptpress._inputs.formats.FORMATS`; by the suffix when None.
        batch_size: rows a batch, at most.
        limit: rows altogether, at most.
        otherwise: the format of files whose suffix doesn't say it.
        skip_corrupt: whether row groups of Parquet that can't be read are left out; `skipped` lists them.
            None: there is no option that says so.

    Raises:
        DataError: when a file can't be read, its suffix says nothing, or the files' columns differ.

    """

    def __init__(
        self,
        paths: Sequence[str],
        data_format: str | None = None,
        batch_size: int = 65536,
        limit: int | None = None,
        *,
        otherwise: str | None = None,
        skip_corrupt: bool | None = None,
    ) -> None:
        self.error: BaseException | None = None
        self.skipped: list[RowGroup] = []
        self._skip_corrupt = skip_corrupt
        self._states: dict[str, FileState | None] = {}
        self.batch_size = batch_size
        self._otherwise = otherwise
        self._limit = limit
        self._stack = ExitStack()
        self._files: list[tuple[str, _Input]] = []
        try:
            self._open(paths, data_format, batch_size)
        except BaseException:
            self._stack.close()
            raise
        self.schema = self._common_schema()
        counts = [file.num_rows for _, file in self._files]
        self.num_rows = None if None in counts else sum(c for c in counts if c is not None)
        if limit is not None:
            self.num_rows = limit if self.num_rows is None else min(self.num_rows, limit)

    def _open(self, paths: Sequence[str], data_format: str | None, batch_size: int) -> None:
        for path in paths:
            for found, kind in self._found(path, data_format):
                self._files.append((found, self._opened(found, kind or data_format, batch_size)))
        JsonLines.agree([file for _, file in self._files if isinstance(file, JsonLines)])

    def _found(self, path: str, data_format: str | None) -> list[tuple[str, str | None]]:
        with reading(path):
            found = found_files(path, data_format)
        if STDIN in (name for name, _ in self._files) and path == STDIN:
            raise DataError("standard input is named twice; it can be read once", is_choice=True)
        return found

    def _opened(self, path: str, data_format: str | None, batch_size: int) -> _Input:
        kind = written(path, data_format, self._otherwise).format
        self._states[path] = state_of(path)
        with reading(path):
            source = Source(path, self._stack)
            file: _Input
            if kind in ("jsonl", "json"):
                file = JsonLines(source, batch_size, is_array=kind == "json")
            elif kind in ("csv", "tsv"):
                file = SeparatedValues(source, kind, batch_size)
            elif kind == "parquet":
                file = ParquetInput(source, batch_size, self._stack, skip_corrupt=self._skip_corrupt)
                self.skipped += file.skipped
            else:
                file = ArrowInput(source, batch_size, self._stack)
            core_schema(file.schema)  # names are any bytes in a file
        return file

    def _common_schema(self) -> pa.Schema:
        first_path, first = self._files[0]
        for path, file in self._files[1:]:
            if not file.schema.equals(first.schema):
                raise DataError(f"{path}: {_difference(first.schema, file.schema)} as in {first_path}")
        return first.schema.remove_metadata()

    @property
    def has_times(self) -> bool:
        """Whether texts of JSON look like times, which other readers take them for."""
        return any(isinstance(file, JsonLines) and file.has_times for _, file in self._files)

    def identity(self) -> list[dict[str, Any]]:
        """Say by what the files are known again in a later run.

        Returns:
            Values of JSON, for each file.

        Raises:
            UsageError: when one can be read only once.
            DataError: when one can't be read.

        """
        out = []
        for path, _ in self._files:
            with reading(path):
                out.append(identity(path))
        return out

    def reader(
        self, count: Callable[[int], object] = int, first: int = 0, dictionaries: Collection[str] = ()
    ) -> pa.RecordBatchReader:
        """Open the stream.

        Args:
            count: is told the number of rows of each batch, when the next is asked for.
            first: the row to begin with.
            dictionaries: columns of texts that may come as dictionaries, where that is how the files have them.

        Returns:
            A reader over all files, to be consumed once.

        """
        found = self._repetitive(dictionaries)
        schema = self.schema
        for name in found:
            at = schema.get_field_index(name)
            schema = schema.set(at, schema.field(at).with_type(pa.dictionary(pa.int32(), pa.string())))
        return pa.RecordBatchReader.from_batches(schema, self._batches(count, first, schema, found))

    def _repetitive(self, names: Collection[str]) -> set[str]:
        """Which columns are to come as dictionaries: all files have to give them so."""
        if not names:
            return set()
        found = [file.repetitive(names) if isinstance(file, ParquetInput) else set() for _, file in self._files]
        return set.intersection(*found)

    def table(self) -> pa.Table:
        """Read everything.

        Returns:
            One table.

        Raises:
            DataError: when a file turns out to be damaged.

        """
        return pa.Table.from_batches(list(self._batches(int, 0, self.schema, set())), self.schema)

    def _batches(
        self, count: Callable[[int], object], first: int, schema: pa.Schema, dictionaries: set[str]
    ) -> Iterator[pa.RecordBatch]:
        left = None if self._limit is None else self._limit - first
        try:
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
                        count(kept.num_rows)
                    if left == 0:
                        return
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise

    def _batches_of(self, path: str, file: _Input, first: int, dictionaries: set[str]) -> Iterator[pa.RecordBatch]:
        """Read a file, a columnar one from a row on; it is to stay what it was."""
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
        # What was open when it was deleted has been read to its end.
        if (why_not := changed(path, state)) is not None and state_of(path) is not None:
            raise DataError(f"{path}: the file has changed while it was read: {why_not}")

    def close(self) -> None:
        """Close the files."""
        self._stack.close()


def example_rows(paths: Sequence[str], data_format: str | None) -> pa.Table | None:
    """Read the rows that examples come from, whose files may be of another format than the samples'.

    Args:
        paths: as `Samples` takes them.
        data_format: the format of those whose name doesn't say it.

    Returns:
        All rows; None without files.

    Raises:
        DataError: as `Samples`.

    """
    return Samples(paths, otherwise=data_format).table() if paths else None


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the next batch in a thread of its own while one is worked on."""
    thread = Threads(1)
    coming = thread.submit(next, batches, None)
    try:
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
    finally:
        # What is read is waited for, the thread isn't: this may be the garbage collector's call, which comes in the
        # midst of anything, such as the start of another thread, whose lock joining one would wait for.
        coming.wait()
        thread.close()


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what Arrow raises while it reads a file into one error that names the file.

    Args:
        path: the file.

    Raises:
        DataError: in place of any error of reading.

    Example:
        >>> with reading("a.parquet"):
        ...     raise OSError(5, "Input/output error")
        Traceback (most recent call last):
        ...
        promptpress._file_errors.DataError: a.parquet: Input/output error

    """
    try:
        yield
    except pa.ArrowMemoryError as error:  # before MemoryError, which it is too: a damaged file asks for any amount
        found = f"{path}: out of memory ({reason(error)})"
        raise DataError(f"{found}; it is damaged, or one of its batches is larger than memory") from error
    except (DataError, MemoryError):
        raise
    except Exception as error:
        if is_remote(path) and not isinstance(error, (pa.ArrowInvalid, RenderError)):
            raise DataError(f"{path}: {why(error)}") from error  # whatever reads from there has exceptions of its own
        if isinstance(error, OSError):
            raise DataError(f"{path}: {missing(path, error)}") from error
        if not isinstance(error, (pa.ArrowException, ValueError, EOFError, lzma.LZMAError)):
            raise
        raise DataError(f"{path}: {reason(error)}") from error


def _difference(wanted: pa.Schema, found: pa.Schema) -> str:
    for name in wanted.names:
        if name not in found.names:
            return f"lacks the column {name!r}"
    for field in found:
        if field.name not in wanted.names:
            return f"has a column {field.name!r}, not so"
        other = wanted.field(wanted.names.index(field.name)).type
        if field.type != other:
            return f"column {field.name!r} is {field.type}, not {other}"
    if found.names != wanted.names:
        return f"the columns stand in the order {', '.join(found.names)}, not {', '.join(wanted.names)}"
    return "the fields' nullability isn't"


_Input = ParquetInput | ArrowInput | JsonLines | SeparatedValues
