"""Parquet and Arrow IPC as record batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from promptpress._file_errors import Choice, DataError, reason
from promptpress._inputs.sources import Source


class ParquetInput:
    """One Parquet file.

    Args:
        source: the file.
        batch_size: rows a batch, at most.
        stack: closes it.

    """

    def __init__(self, source: Source, batch_size: int, stack: ExitStack) -> None:
        self._file = stack.enter_context(pq.ParquetFile(source.open_anywhere(), page_checksum_verification=True))
        self._batch_size = batch_size
        self.schema: pa.Schema = self._file.schema_arrow
        self.num_rows: int | None = self._file.metadata.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Yields:
            Record batches of the file's schema.

        """
        yield from self._file.iter_batches(self._batch_size)


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
