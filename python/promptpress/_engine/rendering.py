"""Runs over samples, and their output: parts with requests become tables, batches and lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.core_tables import for_core
from promptpress._arrow.take import batch_rows, take_rows
from promptpress._config.configuration import Configuration
from promptpress._core import RenderedRows
from promptpress._engine.batch_cuts import FIRST_ROWS, BatchCuts
from promptpress._engine.options import RenderOptions
from promptpress._errors.errors import RowErrors, render_error
from promptpress._errors.left_out import LeftOut

_RISKED = 1 / 4
"""So many of the rows in a row that were lines are rendered as lines at a time: one among them for which copying isn't
enough undoes all that are rendered with it."""


@dataclass(frozen=True)
class Part:
    """The requests of consecutive samples: what an outcome of the core has, and an error for each request.

    Args:
        start: The number of the first sample.
        rows: How many samples there are.
        prompts: The requests; null where there is an error.
        errors: The error of each request, as text; null where there is none. None: errors weren't asked for.
        labels: The label of each request, in ppl.
        turns: The turn of each request, of conversations.
        samples: The sample of each request, where samples differ in their number of requests.
        spans: The spans of each request, where they were asked for.
        hashes: The hash of each request, where what rendered them has made it.
        more: More columns in the place of the prompts, which are None then.
    """

    start: int
    rows: int
    prompts: Any
    errors: Any = None
    labels: Any = None
    turns: Any = None
    samples: Any = None
    spans: Any = None
    hashes: Any = None
    more: Sequence[Any] = ()

    @classmethod
    def of(cls, part: RenderedRows | Part, prompts: Any, errors: Any, **columns: Any) -> Part:
        """Return the requests of the samples of a part, with other prompts, errors and columns."""
        of_samples: dict[str, Any] = {"labels": part.labels, "turns": part.turns, "samples": part.samples}
        return cls(part.start, part.rows, prompts, errors, **of_samples, **columns)


class Run(ABC):
    """Renders the samples of one table or stream, batch after batch.

    A run keeps what goes on from batch to batch, such as the position of retrievers.
    """

    times: int = 1
    """The requests of a sample, where all have as many."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.row_number: Callable[[int], int] = int
        """Returns the number of a sample for its place in the run, if they differ."""
        self.samples = 0
        """The number of samples that were rendered so far."""
        self.errors = RowErrors()
        """The samples that couldn't be rendered, if the run goes on after them."""
        self.lacking = LeftOut()
        """The parts that a chat template has left out, by the numbers of samples in the run."""

    @property
    def writes_json(self) -> bool:
        """True if the requests are messages written as JSON, whose hash is the messages'."""
        return False

    @property
    def conversations(self) -> int:
        """The number of requests of the samples so far."""
        return self.samples * self.times

    @abstractmethod
    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[RenderedRows | Part]:
        """Render the next samples, after `first` others, in several parts unless a `single` one is asked for."""


def sample_numbers(part: RenderedRows | Part, times: int) -> pa.Array:
    """Number the samples of a part's requests, as they count over the whole stream."""
    return _core.repeated_rows(part.start, part.rows, times) if part.samples is None else part.samples


@dataclass(frozen=True)
class RenderedLines:
    """The lines of some rows, with their line breaks; `text_bytes` are those of the texts without escapes."""

    lines: pa.LargeBinaryArray
    text_bytes: int

    @property
    def num_rows(self) -> int:
        return len(self.lines)


def rendered_table(run: Run, table: pa.Table, schema: pa.Schema, options: RenderOptions) -> pa.Table:
    """Render a table."""
    parts = list(run.parts(table, 0))
    run.samples += table.num_rows
    columns: list[Any] = []
    if options.index is not None:
        columns.append(pa.chunked_array([sample_numbers(part, run.times) for part in parts], pa.int64()))
    for column in map(table.column, options.kept):
        if run.times != 1 or parts[0].samples is not None:
            chunks = [
                chunk
                for part in parts
                for chunk in _repeated(column.slice(part.start, part.rows), part.start, run.times, part.samples)
            ]
            column = pa.chunked_array(chunks, column.type)  # noqa: PLW2901 - one part at a time is in memory twice
        columns.append(column)
    if len(parts) == 1:
        columns += [array for array in _request_columns(run, parts[0], options) if array is not None]
    else:
        for arrays in zip(*(_request_columns(run, part, options) for part in parts), strict=True):
            if arrays[0] is not None:
                columns.append(pa.chunked_array(arrays, schema.field(len(columns)).type))
    rendered = pa.Table.from_arrays(columns, schema=schema)
    if not _leaves_out(parts, options):
        return rendered
    return pa.Table.from_batches(_without_failed(rendered.to_batches(), parts, options), schema)


def rendered_batches(
    run: Run,
    reader: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    options: RenderOptions,
    *,
    first: int = 0,
    cuts: BatchCuts | None = None,
) -> Iterator[pa.RecordBatch]:
    """Render batches as they are read, cut into smaller ones; positions count over all of them."""
    batches, cuts = iter(reader), BatchCuts() if cuts is None else cuts
    while (batch := next(batches, None)) is not None:
        # What was read is let go before more is: a batch may be most of the memory there is.
        rest = [batch]
        del batch
        while rest:
            rows = cuts.next(rest)
            rendered = _rendered(run, rows, schema, options, first=first)
            first += rows.num_rows
            del rows
            size = 0
            for part in rendered:
                size += cuts.size_of(part)
                yield part
                del part
            del rendered
            cuts.learn(size)


def rendered_batch(run: Run, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Render one batch as one, and keep all its columns."""
    (out,) = _rendered(run, batch, schema, RenderOptions(tuple(batch.schema.names)), single=True)
    return out


def _rendered(
    run: Run, batch: pa.RecordBatch, schema: pa.Schema, options: RenderOptions, *, first: int = 0, single: bool = False
) -> Iterator[pa.RecordBatch]:
    kept = [batch.column(batch.schema.get_field_index(name)) for name in options.kept]
    kept_rows = batch.num_rows
    run.samples += kept_rows
    parts = run.parts(pa.Table.from_batches([batch]), first, single=single)
    del batch
    for part in parts:
        start, rows = part.start, part.rows
        slices = kept if rows == kept_rows else [column.slice(start - first, rows) for column in kept]
        columns = [_repeated(column, start, run.times, part.samples) for column in slices]
        if options.index is not None:
            columns.insert(0, [sample_numbers(part, run.times)])
        requests = [column for column in _request_columns(run, part, options) if column is not None]
        if all(len(chunks) == 1 for chunks in columns):
            rows_of_part = pa.RecordBatch.from_arrays([*(chunks[0] for chunks in columns), *requests], schema=schema)
            yield from _without_failed([rows_of_part], [part], options)
            continue
        if single:
            name = next(name for name, chunks in zip(options.kept, columns, strict=True) if len(chunks) > 1)
            message = (
                f"kept for every request it passes what one array of {schema.field(name).type} can hold; give smaller "
                "batches, or cast it to a type of 64-bit offsets"
            )
            raise render_error("offset_overflow", message, column=name)
        arrays = [
            *(pa.chunked_array(chunks, schema.field(n).type) for n, chunks in enumerate(columns)),
            *(pa.chunked_array([column]) for column in requests),
        ]
        yield from _without_failed(pa.Table.from_arrays(arrays, schema=schema).to_batches(), [part], options)


def _without_failed(
    batches: Iterable[pa.RecordBatch], parts: Sequence[RenderedRows | Part], options: RenderOptions
) -> Iterator[pa.RecordBatch]:
    """Yield batches without the requests that couldn't be rendered, if they are left out."""
    if not _leaves_out(parts, options):
        yield from batches
        return
    errors: list[Any] = [part.errors for part in parts]
    is_rendered = pa.chunked_array([of_part.is_null() for of_part in errors])
    start = 0
    for batch in batches:
        rows = pc.indices_nonzero(is_rendered.slice(start, batch.num_rows)).cast(pa.int64())
        start += batch.num_rows
        yield batch_rows(batch, rows)


def _leaves_out(parts: Iterable[RenderedRows | Part], options: RenderOptions) -> bool:
    """Return true if requests of these parts are left out, because they couldn't be rendered."""
    return options.errors == "skip" and any(map(_has_errors, parts))


def _has_errors(part: RenderedRows | Part) -> bool:
    errors: Any = part.errors
    return errors is not None and errors.null_count < len(errors)


def _request_columns(run: Run, part: RenderedRows | Part, options: RenderOptions) -> list[Any]:
    """Return the columns of a part's requests; None for a column that the output doesn't have."""
    prompts = part.prompts
    if options.collects_errors and _has_errors(part):
        errors: Any = part.errors
        samples = sample_numbers(part, run.times).filter(errors.is_valid())
        run.errors.add(samples.to_pylist(), errors.drop_null().to_pylist())
    columns = [part.labels, part.turns, prompts]
    if isinstance(part, Part):
        columns += part.more
    if options.spans is not False:
        columns.append(part.spans)
    if options.hashes:
        hashes: Any = part.hashes
        columns.append(_core.request_hashes(prompts, run.writes_json) if hashes is None else hashes)
    if options.has_error_column:
        columns.append(part.errors)
    return columns


def _repeated(column: Any, start: int, times: int, samples: pa.Array | None) -> list[pa.Array]:
    """Repeat the rows of a part of a column as the requests need them."""
    if samples is not None:
        return take_rows(column, pc.subtract(samples, start))
    if times == 1:
        return [column]
    return take_rows(column, _core.repeated_rows(0, len(column), times))


def rendered_lines(
    configuration: Configuration,
    reader: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    frame: _core.LineLayout,
    position: _core.StreamState | None = None,
) -> Iterator[RenderedLines | pa.RecordBatch]:
    """Render batches as they are read, into lines where copying is enough for all rows of a part."""
    blocks, first = _Blocks(), 0
    position = _core.StreamState() if position is None else position
    batches = iter(reader)
    while (batch := next(batches, None)) is not None:
        # What was read is let go before more is: a batch may be most of the memory there is.
        rest = [batch]
        del batch
        while rest:
            rows = blocks.cuts.next(rest)
            core_table, python_text = for_core(pa.Table.from_batches([rows]), first)
            first += rows.num_rows
            del rows
            parts = configuration.core.lines(core_table, position, python_text, frame)
            del core_table, python_text
            parts.reverse()
            while parts:
                yield blocks.output_of(parts.pop(), schema)


class _Blocks:
    """The number of rows that are rendered at a time: as many as stay in cache, fewer if many may be rendered again."""

    def __init__(self) -> None:
        self.cuts = BatchCuts()
        self._are_lines = True
        self._in_a_row = 0

    def output_of(self, part: RenderedRows, schema: pa.Schema) -> RenderedLines | pa.RecordBatch:
        """Return a part as it is to be written."""
        prompts, text_bytes = part.prompts, part.text_bytes
        if self._are_lines != (text_bytes is not None):
            self._are_lines, self._in_a_row = not self._are_lines, 0
        self._in_a_row += len(prompts)
        self.cuts.learn(self.cuts.size_of(prompts), len(prompts))
        self.cuts.rows = max(1, min(self.cuts.rows, max(FIRST_ROWS, int(self._in_a_row * _RISKED))))
        if text_bytes is None:
            return pa.RecordBatch.from_arrays([prompts], schema=schema)
        return RenderedLines(prompts, text_bytes)
