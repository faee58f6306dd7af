"""The prompts of some files as a stream of record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

import promptpress
from promptpress._cli.jinja_runs import Maker
from promptpress._cli.progress import Progress
from promptpress._file_errors import DataError, reason
from promptpress._inputs.samples import Samples


class TableSamples:
    """Rows that are in memory, in the place of files.

    Args:
        table: the rows.
        batch_size: rows a batch, at most.

    Example:
        >>> TableSamples(pa.table({"q": ["1+1?"]}), 10).num_rows
        1

    """

    def __init__(self, table: pa.Table, batch_size: int) -> None:
        self._table = table
        self._batch_size = batch_size
        self.schema: pa.Schema = table.schema
        self.num_rows: int | None = table.num_rows
        self.error: BaseException | None = None

    def reader(self, count: Callable[[int], object] = int) -> pa.RecordBatchReader:
        """Open the stream.

        Args:
            count: is told the number of rows of each batch.

        Returns:
            A reader over all rows.

        """

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._table.to_batches(self._batch_size):
                yield batch
                count(batch.num_rows)

        return pa.RecordBatchReader.from_batches(self.schema, batches())

    def table(self) -> pa.Table:
        """Give everything.

        Returns:
            The table.

        """
        return self._table


def rendered(
    renderer: Maker,
    samples: Samples | TableSamples,
    progress: Progress,
    keep: list[str],
    index: str | None = None,
) -> pa.RecordBatchReader:
    """Render as a stream; or at once where the configuration depends on all rows, such as labels of a column.

    Args:
        renderer: what renders.
        samples: the files.
        progress: is told of the rows.
        keep: columns to keep.
        index: the name of a column of the samples' numbers.

    Returns:
        The prompts, to be read with `pulled`.

    Raises:
        promptpress.TemplateError: when the configuration is wrong.
        promptpress.RenderError: when the data don't fit it.

    """
    try:
        return renderer.stream(samples.reader(progress.advance), keep=keep, index=index)
    except promptpress.TemplateError:
        return renderer.render(samples.table(), keep=keep, index=index).to_reader()


def pulled(stream: pa.RecordBatchReader, samples: Samples | TableSamples) -> Iterator[pa.RecordBatch]:
    """Give the rendered batches; what went wrong while reading is raised as itself.

    Args:
        stream: as `rendered` gives it.
        samples: the files that it reads.

    Yields:
        The batches.

    Raises:
        DataError: when a file turns out to be damaged.
        promptpress.RenderError: when a row can't be rendered.

    """
    with errors_of(samples):
        try:
            yield from stream
        except (promptpress.RenderError, promptpress.TemplateError):
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(reason(error)) from error  # Arrow's C stream hands errors on as text


@contextmanager
def errors_of(samples: Samples | TableSamples) -> Iterator[None]:
    """Raise what went wrong while files were read as itself: who pulls through Arrow's C stream gets bare text.

    Args:
        samples: the files that are read within.

    Raises:
        DataError: when a file turns out to be damaged.

    """
    try:
        yield
    except Exception:
        if samples.error is not None:
            raise samples.error from None
        raise
