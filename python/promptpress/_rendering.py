"""Samples through the compiled configuration, and beside their prompts the columns that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from promptpress._configuration import Configuration
from promptpress._core import Outcome, Position
from promptpress._errors import render_error
from promptpress._kept_columns import repeated
from promptpress._label_values import labels_of
from promptpress._render_options import RenderOptions
from promptpress._row_errors import Part, RowErrors
from promptpress._sample_numbers import sample_numbers
from promptpress._tables import for_core

__all__ = ["rendered_batch", "rendered_batches", "rendered_table", "table_labels"]


def rendered_table(
    configuration: Configuration, table: pa.Table, schema: pa.Schema, options: RenderOptions
) -> pa.Table:
    """Render a table.

    Args:
        configuration: What says how.
        table: All samples.
        schema: The output's.
        options: What comes beside the prompts.

    Returns:
        One row a request.

    Raises:
        RenderError: If a row can't be rendered.

    """
    parts: Sequence[Outcome | Part]
    if options.errors:
        labels = table_labels(configuration, table)
        parts = RowErrors(configuration, labels, Position(), options.span_detail).parts(table, 0)
    else:
        core_table, lower = for_core(table)
        core = configuration.core
        labels = labels_of(core, table, core_table)
        parts = core.render(core_table, labels, Position(), False, lower, options.span_detail)
    times = 1 if labels is None else len(labels)
    columns: list[Any] = []
    if options.index is not None:
        columns.append(pa.chunked_array([sample_numbers(part, times) for part in parts], pa.int64()))
    for column in map(table.column, options.keep):
        if times != 1 or parts[0].samples is not None:
            chunks = [
                chunk
                for part in parts
                for chunk in repeated(column.slice(part.start, part.rows), part.start, times, part.samples)
            ]
            column = pa.chunked_array(chunks, column.type)  # noqa: PLW2901 - one part at a time is in memory twice
        columns.append(column)
    for own in zip(*(_own(configuration, part, times, options) for part in parts), strict=True):
        if own[0] is not None:
            columns.append(own[0] if len(own) == 1 else pa.chunked_array(own, schema.field(len(columns)).type))
    return pa.Table.from_arrays(columns, schema=schema)


def table_labels(configuration: Configuration, table: pa.Table) -> list[Any] | None:
    """List the labels that each sample is rendered with; of the samples no other column than theirs is looked at.

    Args:
        configuration: What says how.
        table: All samples.

    Returns:
        The labels; None for gen.

    Raises:
        RenderError: If the column that holds them isn't there, or its values are no labels.

    """
    name = configuration.core.label_column
    if name is None:
        return configuration.core.labels
    column = table.select([name]) if name in table.column_names else table
    return labels_of(configuration.core, column, for_core(column)[0])


def rendered_batches(
    configuration: Configuration,
    reader: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    options: RenderOptions,
    *,
    labels: list[Any] | None = None,
    first: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Render batches as they are read; positions count over all of them.

    Args:
        configuration: What says how. It is asked for the core at each batch, for between two a process may be forked.
        reader: The samples.
        schema: The output's.
        options: What comes beside the prompts.
        labels: Those of ppl; None: those that the configuration says.
        first: How many samples came before, which a run before this one has rendered.

    Yields:
        The output; where it passes what one array can hold, several batches for one of the samples.

    Raises:
        RenderError: If a row can't be rendered.

    """
    if labels is None:
        labels = configuration.core.labels
    position = Position()
    configuration.core.skip(position, first)
    errors = RowErrors(configuration, labels, position, options.span_detail) if options.errors else None
    batches = iter(reader)
    while (batch := next(batches, None)) is not None:
        rendered = _rendered(
            configuration, batch, schema, options, labels=labels, position=position, first=first, errors=errors
        )
        first += batch.num_rows
        # What was read is let go before more is: a batch may be most of the memory there is.
        del batch
        yield from rendered
        del rendered


def rendered_batch(configuration: Configuration, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Render one batch as one, and keep all its columns.

    Args:
        configuration: What says how.
        batch: Some samples.
        schema: The output's.

    Returns:
        The batch with the output's own columns behind its own.

    Raises:
        RenderError: If a row can't be rendered, or a column passes what one array can hold.

    """
    options = RenderOptions(tuple(batch.schema.names))
    labels = configuration.core.labels
    (out,) = _rendered(configuration, batch, schema, options, labels=labels, position=Position(), single_chunk=True)
    return out


def _rendered(
    configuration: Configuration,
    batch: pa.RecordBatch,
    schema: pa.Schema,
    options: RenderOptions,
    *,
    labels: list[Any] | None,
    position: Position,
    first: int = 0,
    single_chunk: bool = False,
    errors: RowErrors | None = None,
) -> Iterator[pa.RecordBatch]:
    times = 1 if labels is None else len(labels)
    kept = [batch.column(batch.schema.get_field_index(name)) for name in options.keep]
    kept_rows = batch.num_rows
    outcomes: list[Any]
    if errors is not None:
        outcomes = errors.parts(pa.Table.from_batches([batch]), first)
    else:
        core_table, lower = for_core(pa.Table.from_batches([batch]), first)
        outcomes = configuration.core.render(core_table, labels, position, single_chunk, lower, options.span_detail)
        del core_table, lower
    del batch
    outcomes.reverse()
    while outcomes:
        part = outcomes.pop()
        start, rows = part.start, part.rows
        parts = kept if rows == kept_rows else [column.slice(start - first, rows) for column in kept]
        columns = [repeated(column, start, times, part.samples) for column in parts]
        if options.index is not None:
            columns.insert(0, [sample_numbers(part, times)])
        own = [column for column in _own(configuration, part, times, options) if column is not None]
        if all(len(chunks) == 1 for chunks in columns):
            yield pa.RecordBatch.from_arrays([*(chunks[0] for chunks in columns), *own], schema=schema)
            continue
        if single_chunk:
            name = next(name for name, chunks in zip(options.keep, columns, strict=True) if len(chunks) > 1)
            message = (
                "kept for every request it passes what one array of "
                f"{schema.field(name).type} can hold; give smaller batches, or cast it to a type of 64-bit offsets"
            )
            raise render_error("offset_overflow", message, column=name)
        arrays = [
            *(pa.chunked_array(chunks, schema.field(n).type) for n, chunks in enumerate(columns)),
            *(pa.chunked_array([column]) for column in own),
        ]
        yield from pa.Table.from_arrays(arrays, schema=schema).to_batches()


def _own(configuration: Configuration, part: Outcome | Part, times: int, options: RenderOptions) -> list[Any]:
    """The columns that aren't the samples': None where a configuration has no such column."""
    if isinstance(part, Part):
        prompts, errors = part.prompts, part.errors
    else:
        prompts, errors = configuration.prompts(part, times), None
    is_json = configuration.settings.get("output") == "messages_json"
    return [part.labels, part.turns, prompts, *options.columns(part, prompts, is_json=is_json, errors=errors)]
