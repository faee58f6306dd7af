"""Any row of the samples at once: they are read once, in the background, into a file that is mapped."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from promptpress._file_errors import reason
from promptpress._inputs.samples import Samples


class SampleStore:
    """The samples in an uncompressed Arrow file of its own, in a temporary folder that is gone at the end.

    A Parquet file may be one row group of a million rows, and a JSONL file has no index at all: neither gives row
    900,000 without what stands before. So the rows are copied once, as fast as they can be read, and the first can be
    had as soon as they have been. What is mapped is the page cache's, not the process's.

    Args:
        samples: what is copied; its batches should be small, for the first are shown when they are there.
        folder: where the temporary folder is made; the system's place when None (`TMPDIR` says another).

    Example:
        >>> import pyarrow as pa
        >>> class Few:
        ...     schema, num_rows, error = pa.schema({"q": pa.string()}), 2, None
        ...     def reader(self):
        ...         return pa.table({"q": ["a", "b"]}).to_reader()
        ...     def close(self):
        ...         pass
        >>> store = SampleStore(Few())
        >>> store.wait(2), store.rows(1, 2).to_pylist()
        (True, [{'q': 'b'}])
        >>> store.close()

    """

    def __init__(self, samples: Samples, folder: str | None = None) -> None:
        self.schema: pa.Schema = samples.schema
        self.ready = 0
        self.done = False
        self.error: str | None = None
        self._expected: int | None = samples.num_rows
        self._folder = Path(tempfile.mkdtemp(prefix="promptpress-view-", dir=folder))
        self._path = self._folder / "samples.arrows"
        self._ends: list[tuple[int, int]] = []  # of each segment: its last row's number plus one, its last byte's
        self._grown = threading.Condition()
        self._closed = False
        self._mapped = pa.Table.from_batches([], self.schema)
        self._thread = threading.Thread(target=self._copy, args=(samples,), name="promptpress-samples", daemon=True)
        self._thread.start()

    @property
    def num_rows(self) -> int | None:
        """How many rows there are; None while nothing tells."""
        return self.ready if self.done else self._expected

    def wait(self, rows: int, timeout: float | None = None) -> bool:
        """Wait until so many rows are there, or there will be no more.

        Args:
            rows: how many.
            timeout: seconds, at most; None: as long as it takes.

        Returns:
            Whether they are there.

        """
        until = None if timeout is None else time.monotonic() + timeout
        with self._grown:
            while self.ready < rows and not self.done:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._grown.wait(left)
            return self.ready >= rows

    def wait_all(self) -> None:
        """Wait until all rows are there."""
        with self._grown:
            while not self.done:
                self._grown.wait()

    def rows(self, start: int, stop: int) -> pa.Table:
        """Give some rows, without copying them.

        Args:
            start: the first row.
            stop: the row after the last; rows that aren't there yet are left out.

        Returns:
            The rows, mapped.

        """
        return self.table(stop).slice(start, max(0, stop - start))

    def table(self, rows: int | None = None) -> pa.Table:
        """Give everything that is there so far, without copying it.

        Args:
            rows: what is there already is enough where it has so many rows; None: all.

        Returns:
            One table over the mapped file.

        """
        with self._grown:
            wanted = self.ready if rows is None else min(rows, self.ready)
            if self._mapped.num_rows < wanted:
                self._mapped = self._map()
            return self._mapped

    def slices(self, rows: int, cancelled: Callable[[], bool] = lambda: False) -> Iterator[tuple[int, pa.Table]]:
        """Walk through all rows, as they come.

        Args:
            rows: how many at a time, at most.
            cancelled: is asked before each step whether to stop.

        Yields:
            The first row's number, and the rows.

        """
        start = 0
        while not cancelled():
            if not self.wait(start + rows, 0.2) and not self.done:
                continue
            part = self.rows(start, start + rows)
            if not part.num_rows:
                return
            yield start, part
            start += part.num_rows

    def close(self) -> None:
        """Let the file go. Rows given out stay readable where the system allows that."""
        self._closed = True
        self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _copy(self, samples: Samples) -> None:
        try:
            with open(self._path, "wb", buffering=0) as file:
                for batch in samples.reader():
                    if self._closed:
                        return
                    # A stream of its own for each batch, which has its dictionaries with it.
                    with pa.ipc.new_stream(file, self.schema) as writer:
                        writer.write_batch(batch)
                    with self._grown:
                        self.ready += batch.num_rows
                        self._ends.append((self.ready, file.tell()))
                        self._grown.notify_all()
        except BaseException as error:
            # pyarrow's errors of damaged files are an OSError, too: what the samples say of themselves comes first.
            is_own = samples.error is None and isinstance(error, OSError)
            self.error = self._full(error) if is_own else str(samples.error or error)
        finally:
            samples.close()
            with self._grown:
                self.done = True
                if not self._closed and self.ready:
                    self._mapped = self._map()
                self._grown.notify_all()
            if os.name == "posix":  # what is mapped stays, and nothing is left however the process ends
                shutil.rmtree(self._folder, ignore_errors=True)

    def _full(self, error: BaseException) -> str:
        return f"{self._folder}: {reason(error)}; the samples are copied there, and TMPDIR names another place"

    def _map(self) -> pa.Table:
        whole = pa.memory_map(str(self._path)).read_buffer()
        batches = []
        start = 0
        for _, end in self._ends:
            with pa.ipc.open_stream(whole.slice(start, end - start)) as stream:
                batches.append(stream.read_next_batch())
            start = end
        return pa.Table.from_batches(batches, self.schema)
