"""Streams of rendered prompts: as record batches, or as lines of JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeGuard, TypeVar

import promptpress
import pyarrow as pa
from promptpress import DataError
from promptpress.engine import ConfiguredEngine, RenderedLines, RenderOptions, TableEngine, engine_of, ordered_batches
from promptpress.engine import core as _core
from promptpress.engine.errors import ABOUT_THE_TABLE, of_row, reason
from promptpress.engine.tables import table_bytes

from promptpress_workbench.cli.sources.jinja_runs import AnyRenderer
from promptpress_workbench.files.read.columnar_inputs import RowGroup
from promptpress_workbench.files.read.formats import ALL_ROWS, RowChoice
from promptpress_workbench.files.read.samples import ChosenRows, Samples

_Batch = TypeVar("_Batch")

_REMEDY = "--errors skip leaves such rows out"


class TableSamples:
    """Samples in memory, with the interface of `Samples`."""

    def __init__(
        self, table: pa.Table, batch_size: int, limit: int | None = None, choice: RowChoice = ALL_ROWS
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

    def reader(self, count: Callable[[int], object] = int, first: int = 0) -> pa.RecordBatchReader:
        """Return a stream of the samples from the row `first` on; `count` gets the size of each batch after its use."""

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._table.slice(first).to_batches(self.batch_size):
                yield batch
                count(batch.num_rows)

        return pa.RecordBatchReader.from_batches(self.schema, batches())

    def identity(self) -> list[dict[str, Any]]:
        """Return the number and the digest of the rows, by which a later run recognises them."""
        digest = hashlib.sha256(table_bytes(self._table)).hexdigest()
        return [{"rows": self._table.num_rows, "content": digest[:32]}]

    def table(self) -> pa.Table:
        return self._table


AnySamples: TypeAlias = Samples | TableSamples
_Count: TypeAlias = Callable[[int], object]


def rendered(
    renderer: AnyRenderer,
    samples: AnySamples,
    count: _Count,
    options: RenderOptions,
    first: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Return a stream of rendered batches from the sample `first` on; `count` gets the sizes of finished batches.

    If a column holds the labels, or the prompts come in prefix order, all samples are read before one is rendered.
    """
    engine, labels = engine_of(renderer), None
    texts = engine.text_engine
    engine.check_table()
    if options.order is not None:
        return _in_prefix_order(engine, samples, count, options)
    if isinstance(texts, ConfiguredEngine) and texts.core.label_column is not None:
        table = samples.table()
        labels = engine.labels_of_table(table)
        chosen = samples.chosen
        samples = TableSamples(table, samples.batch_size)
        samples.chosen = chosen
    if isinstance(texts, ConfiguredEngine) and isinstance(samples, Samples) and not options.collects_errors:
        # Kept columns must keep their types; the others may come as dictionaries.
        reader = samples.reader(count, first, set(samples.schema.names).difference(options.kept))
    else:
        reader = samples.reader(count, first)
    if samples.chosen is not None:
        engine.row_number = samples.chosen.number
    batches = _with_reading_errors(engine.stream(reader, options, labels=labels, first=first), samples)
    if samples.chosen is None or options.index is None:
        return batches
    return _with_row_numbers(batches, samples.chosen)


def _in_prefix_order(
    engine: TableEngine, samples: AnySamples, count: _Count, options: RenderOptions
) -> Iterator[pa.RecordBatch]:
    """Yield rendered batches in prefix order."""
    with reading_errors(samples), row_remedies():
        table = samples.table()
        if samples.chosen is not None:
            engine.row_number = samples.chosen.number
        batches = ordered_batches(engine, table, options, count)
        yield from batches if samples.chosen is None else _with_row_numbers(batches, samples.chosen)


def has_only_prompts(renderer: AnyRenderer, schema: pa.Schema) -> TypeGuard[promptpress.Renderer]:
    """Return true if the core makes the whole output, one prompt for each sample, so that `rendered_as_lines` works.

    If `limits` bound the bytes of a batch, prompts need the batches of their samples.
    """
    if len(schema) != 1 or not isinstance(renderer, promptpress.Renderer):
        return False
    engine = engine_of(renderer)
    return engine.chat is None and "batch_bytes" not in (engine.settings.get("limits") or {})


def rendered_as_lines(
    renderer: promptpress.Renderer, samples: AnySamples, count: _Count, frame: _core.LineLayout
) -> Iterator[RenderedLines | pa.RecordBatch]:
    """Return a stream of JSON lines, or of record batches where lines would take longer than copying."""
    engine = engine_of(renderer)
    engine.check_table()
    if samples.chosen is not None:
        engine.row_number = samples.chosen.number
    reader = samples.reader(count, 0, samples.schema.names) if isinstance(samples, Samples) else samples.reader(count)
    return _with_reading_errors(engine.lines(reader, frame), samples)


def _with_reading_errors(stream: Iterable[_Batch], samples: AnySamples) -> Iterator[_Batch]:
    """Yield the rendered batches; raise errors of reading in their original form."""
    with reading_errors(samples), row_remedies():
        try:
            yield from stream
        except (promptpress.RenderError, promptpress.TemplateError):
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(reason(error)) from error  # Arrow's C stream passes only the text of errors


@contextmanager
def row_remedies(remedy: str = _REMEDY) -> Iterator[None]:
    """Add to the error of a row what to do about such rows; the commands that use the default have the option."""
    try:
        yield
    except promptpress.RenderError as error:
        if error.row is None or error.code in ABOUT_THE_TABLE:
            raise
        error.message = f"{error.message}; {remedy}"
        raise of_row(error, error.row) from error.__cause__


def _with_row_numbers(batches: Iterable[pa.RecordBatch], chosen: ChosenRows) -> Iterator[pa.RecordBatch]:
    """Replace the index, which counts the chosen rows, by their numbers in the data."""
    for batch in batches:
        yield batch.set_column(0, batch.schema.field(0), chosen.numbers(batch.column(0)))


@contextmanager
def reading_errors(samples: AnySamples) -> Iterator[None]:
    """Raise the original error of reading samples, of which Arrow's C stream passes only the text.

    If only some rows are read, the error of a row names its number in the data.
    """
    try:
        yield
    except Exception as error:
        if samples.error is not None:
            raise samples.error from None
        if samples.chosen is not None and isinstance(error, promptpress.RenderError) and error.row is not None:
            raise of_row(error, samples.chosen.number(error.row)) from error.__cause__
        raise
