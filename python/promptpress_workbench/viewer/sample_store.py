"""Fast access to any row of the samples, which are copied once, in the background, into a mapped file."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from promptpress.engine.errors import reason

from promptpress_workbench.files.read.samples import Samples


class SampleStore:
    """The samples in an uncompressed Arrow file in a temporary folder, which is deleted at the end.

    A Parquet file may be one row group of a million rows, and a JSONL file has no index at all: neither gives row
    900,000 without the rows before it. So the rows are copied once, as fast as they can be read, and the first can be
    used as soon as they are copied. The mapped pages belong to the page cache, not to the process.

    Args:
        samples: The samples. Their batches should be small, because rows are shown as soon as their batch is there.
        folder: The parent of the temporary folder. None is the system's, which `TMPDIR` changes.

    """

    def __init__(self, samples: Samples, folder: str | None = None) -> None:
        self.schema: pa.Schema = samples.schema
        self.ready = 0
        self.done = False
        self.error: str | None = None
        self._expected: int | None = samples.num_rows
        self._folder = Path(tempfile.mkdtemp(prefix="promptpress-view-", dir=folder))
        self._path = self._folder / "samples.arrows"
        self._ends: list[int] = []  # the end of each batch in the file
        self._grown = threading.Condition()
        self._closed = False
        self._mapped = pa.Table.from_batches([], self.schema)
        self._thread = threading.Thread(target=self._copy, args=(samples,), name="promptpress-samples", daemon=True)
        self._thread.start()

    @property
    def num_rows(self) -> int | None:
        """The number of rows; None while it isn't known."""
        return self.ready if self.done else self._expected

    def wait(self, rows: int, timeout: float | None = None) -> bool:
        """Wait until so many rows are there or there will be no more, at most `timeout` seconds.

        Returns:
            True if they are there.

        """
        with self._grown:
            self._grown.wait_for(lambda: self.ready >= rows or self.done, timeout)
            return self.ready >= rows

    def wait_all(self) -> None:
        """Wait until all rows are there."""
        with self._grown:
            self._grown.wait_for(lambda: self.done)

    def rows(self, start: int, stop: int) -> pa.Table:
        """Return the rows from `start` up to `stop` without copying them; rows that aren't there yet are left out."""
        return self.table(stop).slice(start, max(0, stop - start))

    def table(self, rows: int | None = None) -> pa.Table:
        """Return the rows that are there as one table over the mapped file: all, or at least `rows` of them."""
        with self._grown:
            wanted = self.ready if rows is None else min(rows, self.ready)
            if self._mapped.num_rows < wanted:
                self._mapped = self._map()
            return self._mapped

    def slices(self, rows: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield all rows as they come, at most `rows` at a time, each table after its first row's number."""
        start = 0
        self.wait(rows)
        while (part := self.rows(start, start + rows)).num_rows:
            yield start, part
            start += part.num_rows
            self.wait(start + rows)

    def close(self) -> None:
        """Delete the file. Rows returned before stay readable if the system allows that."""
        self._closed = True
        self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _copy(self, samples: Samples) -> None:
        try:
            with open(self._path, "wb", buffering=0) as file:
                for batch in samples.reader():
                    if self._closed:
                        return
                    # Each batch is a stream of its own, with its own dictionaries.
                    with pa.ipc.new_stream(file, self.schema) as writer:
                        writer.write_batch(batch)
                    with self._grown:
                        self.ready += batch.num_rows
                        self._ends.append(file.tell())
                        self._grown.notify_all()
        except BaseException as error:
            # pyarrow's errors of damaged files are OSErrors too, so the error of the samples themselves goes first.
            message = str(samples.error or error)
            if samples.error is None and isinstance(error, OSError):
                message = (
                    f"{self._folder}: {reason(error)}; the samples are copied there, and TMPDIR names another place"
                )
            self.error = message
        finally:
            samples.close()
            with self._grown:
                self.done = True
                if not self._closed and self.ready:
                    self._mapped = self._map()
                self._grown.notify_all()
            if os.name == "posix":  # mapped rows stay, and nothing is left however the process ends
                shutil.rmtree(self._folder, ignore_errors=True)

    def _map(self) -> pa.Table:
        whole = pa.memory_map(str(self._path)).read_buffer()
        batches = []
        start = 0
        for end in self._ends:
            with pa.ipc.open_stream(whole.slice(start, end - start)) as stream:
                batches.append(stream.read_next_batch())
            start = end
        return pa.Table.from_batches(batches, self.schema)
