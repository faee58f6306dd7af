"""The prompts of some files as a stream of record batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeGuard, TypeVar

import pyarrow as pa

import promptpress
from promptpress import _core
from promptpress._cli.jinja_runs import Maker
from promptpress._file_errors import DataError, reason
from promptpress._inputs.columnar_inputs import RowGroup
from promptpress._inputs.samples import Samples
from promptpress._ipc_bytes import table_bytes
from promptpress._render_options import RenderOptions
from promptpress._rendered_lines import RenderedLines
from promptpress._rendering import table_labels

_Pulled = TypeVar("_Pulled")


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
        self.batch_size = batch_size
        self.schema: pa.Schema = table.schema
        self.num_rows: int | None = table.num_rows
        self.error: BaseException | None = None
        self.skipped: list[RowGroup] = []

    def reader(self, count: Callable[[int], object] = int, first: int = 0) -> pa.RecordBatchReader:
        """Open the stream.

        Args:
            count: is told the number of rows of each batch, when the next is asked for.
            first: the row to begin with.

        Returns:
            A reader over all rows.

        """

        def batches() -> Iterator[pa.RecordBatch]:
            at = 0
            for batch in self._table.to_batches(self.batch_size):
                at += batch.num_rows
                if at > first:
                    rest = batch.slice(max(0, first - at + batch.num_rows))
                    yield rest
                    count(rest.num_rows)

        return pa.RecordBatchReader.from_batches(self.schema, batches())

    def identity(self) -> list[dict[str, Any]]:
        """Say by what the rows are known again in a later run.

        Returns:
            Values of JSON.

        """
        found = hashlib.sha256(table_bytes(self._table)).hexdigest()
        return [{"rows": self._table.num_rows, "content": found[:32]}]

    def table(self) -> pa.Table:
        """Give everything.

        Returns:
            The table.

        """
        return self._table


def rendered(
    renderer: Maker,
    samples: Samples | TableSamples,
    count: Callable[[int], object],
    options: RenderOptions,
    first: int = 0,
) -> pa.RecordBatchReader:
    """Render as a stream; where the labels are those of a column, which all rows have to be read for, in two passes.

    Args:
        renderer: what renders.
        samples: the files.
        count: is told of the rows, a batch of samples at a time, when their prompts have been taken.
        options: what comes beside the prompts.
        first: how many samples have been rendered before; they are read past, and count.

    Returns:
        The prompts, to be read with `pulled`.

    Raises:
        promptpress.TemplateError: when the configuration is wrong.
        promptpress.RenderError: when the data don't fit it.

    """
    if not isinstance(renderer, promptpress.Renderer):
        return renderer._stream_from(samples.reader(count, first), options.keep, options.index, first)
    configuration, labels = renderer._configuration, None
    configuration.refuse_replies()
    if configuration.core.label_column is not None:
        table = samples.table()
        labels = table_labels(configuration, table)
        samples = TableSamples(table, samples.batch_size)
    if isinstance(samples, Samples) and not options.errors:
        # What is kept comes out as it came in.
        filled_in = [name for name in samples.schema.names if name not in options.keep]
        return renderer._stream_from(samples.reader(count, first, filled_in), options, labels, first)
    return renderer._stream_from(samples.reader(count, first), options, labels, first)


def is_prompt_alone(renderer: Maker, schema: pa.Schema) -> TypeGuard[promptpress.Renderer]:
    """Whether `rendered_as_lines` can be asked: each sample gives one request, as the core makes it, and nothing else.

    Where `limits` bound a batch, prompts have to come in the batches that they are for.

    Args:
        renderer: what renders.
        schema: of the output.

    Example:
        >>> renderer = promptpress.Renderer("{q}")
        >>> is_prompt_alone(renderer, pa.schema({"prompt": pa.string()}))
        True
        >>> is_prompt_alone(renderer, pa.schema({"id": pa.int64(), "prompt": pa.string()}))
        False

    """
    if len(schema) != 1 or not isinstance(renderer, promptpress.Renderer):
        return False
    configuration = renderer._configuration
    return configuration.chat is None and "batch_bytes" not in (configuration.settings.get("limits") or {})


def rendered_as_lines(
    renderer: promptpress.Renderer,
    samples: Samples | TableSamples,
    count: Callable[[int], object],
    frame: _core.LineLayout,
) -> Iterator[RenderedLines | pa.RecordBatch]:
    """Render as a stream of lines, without a column of prompts where it can be done without.

    Args:
        renderer: what renders; `is_prompt_alone`.
        samples: the files.
        count: as `rendered` has it.
        frame: what stands around each request.

    Returns:
        Lines, and prompts that have yet to be made lines of, to be read with `pulled`.

    Raises:
        promptpress.TemplateError: when the configuration is wrong.
        promptpress.RenderError: when the data don't fit it.

    """
    renderer._configuration.refuse_replies()
    reader = samples.reader(count, 0, samples.schema.names) if isinstance(samples, Samples) else samples.reader(count)
    return renderer._lines_from(reader, frame)


def pulled(stream: Iterable[_Pulled], samples: Samples | TableSamples) -> Iterator[_Pulled]:
    """Give the rendered batches; what went wrong while reading is raised as itself.

    Args:
        stream: as `rendered` and `rendered_as_lines` give it.
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
