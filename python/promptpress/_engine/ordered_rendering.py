"""Requests in prefix order: those with equal beginnings follow each other, so that an engine finds them in its cache.

The order is made of the plan and the samples' columns, before anything is rendered (`src/prefix_order`). A sample takes
24 bytes of memory at most, and 8 when the order is known. Then the samples are rendered in this order, batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.as_table import as_table
from promptpress._arrow.core_tables import core_schema, for_core
from promptpress._arrow.json_columns import is_json, json_texts
from promptpress._arrow.take import rows_in_order
from promptpress._core import RenderError, TemplateError
from promptpress._engine.options import SHARED, RenderOptions
from promptpress._engine.rendering import rendered_batches
from promptpress._engine.table_engine import CHOSEN_EXAMPLES, TableEngine
from promptpress._errors.errors import of_row
from promptpress.typing import TableLike

_BATCH_ROWS = 1 << 16
"""The number of samples that are copied and rendered at a time, as many as the core renders into one array."""

_PROBE_ROWS = 4
"""The samples that are rendered at each of three places of the table, to see the columns of their requests."""

_PROBE_REQUESTS = 64
"""The most of their requests that are read, since a sample may have thousands."""


class PrefixOrder(NamedTuple):
    """The order of samples in which requests with equal beginnings follow each other.

    The numbers of the samples, and of their groups if asked for; `moves` is false if they have this order already.
    """

    rows: pa.Array
    groups: pa.Array | None
    moves: bool


def prefix_order(
    engine: TableEngine, table: pa.Table, labels: list[Any] | None, *, has_groups: bool = False
) -> PrefixOrder:
    """Order samples by what their requests begin with: by plan, without rendering them."""
    samples = table.drop_columns([CHOSEN_EXAMPLES]) if CHOSEN_EXAMPLES in table.column_names else table
    names = leading_columns(engine, samples, labels)
    if names:
        leading = table.select(names)
        for index, field in enumerate(leading.schema):
            if is_json(field):  # the core reads it as texts
                leading = leading.set_column(index, field.name, json_texts(leading.column(index)))
        try:
            return PrefixOrder(*_core.prefix_order(for_core(leading)[0], has_groups))
        except RenderError as error:
            # A value that can't be read is an error of its row, as the rendering says, or ends it.
            if error.code == "limit_exceeded":
                raise
    # Without a column, all requests are equal.
    rows = _core.repeated_rows(0, len(table), 1)
    return PrefixOrder(rows, _core.repeated_rows(0, 1, len(table)) if has_groups else None, moves=False)


def ordered_batches(
    engine: TableEngine, table: pa.Table, options: RenderOptions, count: Callable[[int], object] = int
) -> Iterator[pa.RecordBatch]:
    """Render a table in prefix order, into batches whose index has the numbers of the samples.

    Of rows that can't be rendered, the error of the first one in prefix order is raised.

    Args:
        engine: The engine.
        table: All samples.
        options: The columns next to the prompts, with an order and an index.
        count: Gets the number of samples of each batch that is rendered.
    """
    options = options.of_schema(table.schema)
    schema = engine.output_schema(table.schema, options)
    engine.check_table()
    engine.warn(schema, table.schema, table)
    labels = engine.labels_of_table(table)
    ordered_engine, choices = engine.in_any_order(len(table))
    read = {*engine.columns_read(table.column_names), *options.kept}
    # A table without any column would have no rows.
    table = table.select([n for n in table.column_names if n in read] or table.column_names[:1])
    if choices is not None:
        table = table.append_column(CHOSEN_EXAMPLES, choices)
    order = prefix_order(engine, table, labels, has_groups=options.shared)
    without_order = replace(options, order=None, shared=False)
    run = ordered_engine.begin(without_order, labels)
    run.row_number = lambda row: int(order.rows[row].as_py())
    in_order = rows_in_order(table, order.rows, _BATCH_ROWS) if order.moves else iter(table.to_batches(_BATCH_ROWS))
    batches = _counted(in_order, count)
    # The columns that say what requests share come before the hash and the error.
    end = len(schema) - int(options.hashes) - int(options.has_error_column)
    indices = range(end - len(SHARED), end) if options.shared else range(0)
    inner = pa.schema([field for index, field in enumerate(schema) if index not in indices])
    prompts = indices.start - 1 - int(options.spans is not False) - len(engine.shot_fields)
    shared = _core.SharedBytes()
    try:
        for batch in rendered_batches(run, batches, inner, without_order):
            columns = batch.columns
            if order.groups is not None:
                columns[indices.start : indices.start] = [
                    order.groups.take(columns[0]),
                    shared.add(columns[prompts], engine.writes_json),
                ]
            columns[0] = order.rows.take(columns[0])
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
    except RenderError as error:
        if error.row is None or not 0 <= error.row < len(order.rows):
            raise
        raise of_row(error, run.row_number(error.row)) from error.__cause__
    engine.ended(run)


def _counted(batches: Iterator[pa.RecordBatch], count: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = batch.num_rows
        yield batch
        del batch
        count(rows)


def render_table(engine: TableEngine, samples: TableLike, options: RenderOptions) -> pa.Table:
    """Render all samples, in their own order or in prefix order: what `Renderer.render` returns."""
    if options.order is None:
        return engine.render(samples, options)
    table = as_table(samples, engine.value_reading)
    schema = engine.output_schema(table.schema, options.of_schema(table.schema))
    rendered = pa.Table.from_batches(ordered_batches(engine, table, options), schema)
    return engine.hashed(rendered, options)


def leading_columns(engine: TableEngine, table: pa.Table, labels: list[Any] | None) -> list[str]:
    """Return the columns whose values requests show, from the first to the last.

    A few samples are rendered with the origins of their bytes, and the request that shows most columns counts. Of
    requests that show their columns in different orders, the others are only ordered less well.
    """
    examples = engine.example_column
    required = [name for name in engine.required_columns if name in table.column_names]
    # A span may be of a column that a mask stands for: its values make no difference.
    read = {examples, *engine.columns_read(table.column_names)}
    longest: list[str] = []
    try:
        for spans in _spans(engine, table, labels):
            columns = [name for name in _columns_of(spans, examples, required) if name in read]
            longest = max(longest, columns, key=len)
    except (RenderError, TemplateError):
        # These requests have no spans, or the rendering itself will say what is wrong.
        longest = []
    if not longest:
        longest = [*([] if examples is None else [examples]), *(name for name in required if name != examples)]
    return longest


def _spans(engine: TableEngine, table: pa.Table, labels: list[Any] | None) -> Iterator[list[dict[str, Any]]]:
    """Yield the spans of the requests of some samples."""
    if engine.spans_type(core_schema(table.schema), True) is None:
        return
    options = RenderOptions(spans="detailed", errors="skip")
    rows = len(table)
    for start in sorted({0, rows // 2, max(0, rows - _PROBE_ROWS)}):
        run = engine.begin(options, None if labels is None else labels[:1])
        for part in run.parts(table.slice(start, _PROBE_ROWS), 0):
            spans: Any = part.spans
            yield from (request for request in spans.slice(0, _PROBE_REQUESTS).to_pylist() if request is not None)


def _columns_of(spans: list[dict[str, Any]], examples: str | None, required: list[str]) -> dict[str, None]:
    """Return the columns of a request's spans, in order."""
    columns: dict[str, None] = {}
    for span in spans:
        if span["example"] is not None:
            columns |= {} if examples is None else {examples: None}
        elif span["column"] is not None:
            columns[span["column"]] = None
        elif span["source"] in {"computed", "jinja2"}:
            # A value of several columns may show any of them.
            columns |= dict.fromkeys(required)
    return columns
