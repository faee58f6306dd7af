"""Samples from files: Parquet, Arrow IPC and JSONL, several files in a row, a batch at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import DataError, UsageError, reason
from promptpress._inputs.jsonl_input import JsonLines
from promptpress._places import conversion, is_remote, missing
from promptpress._tables import core_schema

FORMATS = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def format_of(path: str, override: str | None, option: str) -> str:
    """Say how a file is written, by its suffix.

    Args:
        path: the file.
        override: the format that the command line gives, which wins.
        option: the option that would give it, for the error.

    Returns:
        `parquet`, `arrow` or `jsonl`.

    Raises:
        UsageError: for any other suffix.

    Example:
        >>> format_of("a.ndjson", None, "--data-format")
        'jsonl'

    """
    if override is not None:
        return override
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS and os.path.isdir(path):
        raise UsageError(f"{path}: a folder, not a file; name a file in it")
    if suffix not in FORMATS:
        hint = conversion(path) if option == "--data-format" else ""
        raise UsageError(
            f"{path}: the suffix {suffix!r} is none of {', '.join(FORMATS)}; {option} says the format{hint}"
        )
    return FORMATS[suffix]


class Samples:
    """The rows of some files with one schema, as a stream of record batches.

    What goes wrong while a consumer pulls batches through Arrow's C stream reaches it as bare text; `error` keeps the
    exception itself.

    Args:
        paths: the files, in order.
        data_format: `parquet`, `arrow` or `jsonl`; by the suffix when None.
        batch_size: rows a batch, at most.
        limit: rows altogether, at most.

    Raises:
        DataError: when a file can't be read, or the files' columns differ.
        UsageError: for an unknown suffix.

    """

    def __init__(
        self, paths: Sequence[str], data_format: str | None = None, batch_size: int = 65536, limit: int | None = None
    ) -> None:
        self.error: BaseException | None = None
        self._limit = limit
        self._stack = ExitStack()
        self._files: list[tuple[str, _Input]] = []
        lines: list[JsonLines] = []
        for path in paths:
            kind = format_of(path, data_format, "--data-format")
            with reading(path):
                file = self._open(path, kind, batch_size)
                core_schema(file.schema)  # names are any bytes in a file
            self._files.append((path, file))
            if isinstance(file, JsonLines):
                lines.append(file)
        JsonLines.agree(lines)
        self.schema = self._common_schema()
        counts = [file.num_rows for _, file in self._files]
        self.num_rows = None if None in counts else sum(c for c in counts if c is not None)
        if limit is not None:
            self.num_rows = limit if self.num_rows is None else min(self.num_rows, limit)

    def _open(self, path: str, kind: str, batch_size: int) -> _Input:
        if os.path.isdir(path):
            raise DataError(f"{path}: a folder, not a file; name its files")
        if kind == "jsonl":
            return JsonLines(path, batch_size)
        if kind == "parquet":
            return _ParquetInput(path, batch_size, self._stack)
        return _ArrowInput(path, batch_size, self._stack)

    def _common_schema(self) -> pa.Schema:
        first_path, first = self._files[0]
        for path, file in self._files[1:]:
            if not file.schema.equals(first.schema):
                raise DataError(f"{path}: {_difference(first.schema, file.schema)} as in {first_path}")
        return first.schema.remove_metadata()

    def reader(self, count: Callable[[int], object] = int) -> pa.RecordBatchReader:
        """Open the stream.

        Args:
            count: is told the number of rows of each batch.

        Returns:
            A reader over all files, to be consumed once.

        """
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(count))

    def table(self) -> pa.Table:
        """Read everything.

        Returns:
            One table.

        Raises:
            DataError: when a file turns out to be damaged.

        """
        return pa.Table.from_batches(list(self._batches(int)), self.schema)

    def _batches(self, count: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
        left = self._limit
        try:
            for path, file in self._files:
                with reading(path):
                    for batch in _ahead(file.batches()):
                        kept = batch if left is None else batch.slice(0, left)
                        if left is not None:
                            left -= kept.num_rows
                        if kept.num_rows:
                            yield pa.RecordBatch.from_arrays(kept.columns, schema=self.schema)
                            count(kept.num_rows)
                        if left == 0:
                            return
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise

    def close(self) -> None:
        """Close the files."""
        self._stack.close()


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the next batch in a thread of its own while one is worked on."""
    with ThreadPoolExecutor(1, "promptpress-reader") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch


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
    except (DataError, UsageError):
        raise
    except Exception as error:
        if is_remote(path):  # whatever reads from there has exceptions of its own
            why = f"can't be read from there ({type(error).__name__}: {reason(error)})"
            raise DataError(f"{path}: {why}; download it, and give the local file") from error
        if isinstance(error, OSError):
            raise DataError(f"{path}: {missing(path, error)}") from error
        if not isinstance(error, (pa.ArrowException, ValueError)):
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


class _ParquetInput:
    def __init__(self, path: str, batch_size: int, stack: ExitStack) -> None:
        self._file = stack.enter_context(pq.ParquetFile(path, page_checksum_verification=True))
        self._batch_size = batch_size
        self.schema: pa.Schema = self._file.schema_arrow
        self.num_rows: int | None = self._file.metadata.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(self._batch_size)


class _ArrowInput:
    """Both forms of Arrow IPC: a file ends with an index, a stream doesn't; the first bytes tell."""

    def __init__(self, path: str, batch_size: int, stack: ExitStack) -> None:
        source = stack.enter_context(pa.OSFile(path, "rb"))
        self._batch_size = batch_size
        self.num_rows: int | None = None
        self._reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader
        if source.read(6) == b"ARROW1":
            source.seek(0)
            self._reader = stack.enter_context(pa.ipc.open_file(source))
        else:
            source.seek(0)
            try:
                self._reader = stack.enter_context(pa.ipc.open_stream(source))
            except pa.ArrowInvalid as error:
                why = f"neither an Arrow file nor a stream, or damaged ({reason(error)})"
                raise DataError(f"{path}: {why}; --data-format says what it is") from error
        self.schema: pa.Schema = self._reader.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
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


_Input = _ParquetInput | _ArrowInput | JsonLines
