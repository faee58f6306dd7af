"""Output tables and batches: the requests of a run next to the columns of the samples that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from promptpress._arrow.take import batch_rows
from promptpress._core import RenderedRows
from promptpress._engine.kept_columns import repeated
from promptpress._engine.options import RenderOptions
from promptpress._engine.run import Part, Run
from promptpress._engine.sample_numbers import sample_numbers
from promptpress._errors.errors import render_error
from promptpress._utils import lazy_compute as pc


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
                for chunk in repeated(column.slice(part.start, part.rows), part.start, run.times, part.samples)
            ]
            column = pa.chunked_array(chunks, column.type)  # noqa: PLW2901 - one part at a time is in memory twice
        columns.append(column)
    if len(parts) == 1:
        columns += [array for array in _request_columns(run, parts[0], options) if array is not None]
        return _without_failed_rows(pa.Table.from_arrays(columns, schema=schema), parts, options)
    for arrays in zip(*(_request_columns(run, part, options) for part in parts), strict=True):
        if arrays[0] is not None:
            columns.append(pa.chunked_array(arrays, schema.field(len(columns)).type))
    return _without_failed_rows(pa.Table.from_arrays(columns, schema=schema), parts, options)


def rendered_batches(
    run: Run, reader: Iterable[pa.RecordBatch], schema: pa.Schema, options: RenderOptions, *, first: int = 0
) -> Iterator[pa.RecordBatch]:
    """Render batches as they are read; positions count over all of them."""
    batches = iter(reader)
    while (batch := next(batches, None)) is not None:
        rendered = _rendered(run, batch, schema, options, first=first)
        first += batch.num_rows
        # What was read is let go before more is: a batch may be most of the memory there is.
        del batch
        yield from rendered
        del rendered


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
        columns = [repeated(column, start, run.times, part.samples) for column in slices]
        if options.index is not None:
            columns.insert(0, [sample_numbers(part, run.times)])
        requests = [column for column in _request_columns(run, part, options) if column is not None]
        if all(len(chunks) == 1 for chunks in columns):
            rows_of_part = pa.RecordBatch.from_arrays([*(chunks[0] for chunks in columns), *requests], schema=schema)
            yield from _without_failed([rows_of_part], [part], options)
            continue
        if single:
            name = next(name for name, chunks in zip(options.kept, columns, strict=True) if len(chunks) > 1)
            raise render_error(
                "offset_overflow",
                "kept for every request it passes what one array of "
                f"{schema.field(name).type} can hold; give smaller batches, or cast it to a type of 64-bit offsets",
                column=name,
            )
        arrays = [
            *(pa.chunked_array(chunks, schema.field(n).type) for n, chunks in enumerate(columns)),
            *(pa.chunked_array([column]) for column in requests),
        ]
        yield from _without_failed(pa.Table.from_arrays(arrays, schema=schema).to_batches(), [part], options)


def _without_failed_rows(table: pa.Table, parts: Sequence[RenderedRows | Part], options: RenderOptions) -> pa.Table:
    """Return a table without the requests that couldn't be rendered, if they are left out."""
    if not _leaves_out(parts, options):
        return table
    return pa.Table.from_batches(_without_failed(table.to_batches(), parts, options), table.schema)


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
    if options.has_columns:
        columns += options.columns(part, prompts, is_json=run.writes_json)
    return columns
