"""Rendered streams on their way out: checked, converted, made lines of objects, and written to files of lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, Protocol, TypeVar

import pyarrow as pa
from promptpress.engine import SHARED, RenderedLines, as_reader, misspelt_columns, refusal, warn_of_no_rows
from promptpress.engine.core import LineLayout
from promptpress.engine.errors import OutputError, render_error, template_error
from promptpress.typing import StreamLike, Unknown
from pyarrow import types

from promptpress_workbench.export.chat_messages import column_field
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, object_pieces, slices
from promptpress_workbench.files.write.shards import sharded_lines
from promptpress_workbench.threads import background_writer


def refuse_misspelt_columns(schema: pa.Schema, unknown: Unknown) -> None:
    """Refuse prompts of a template with a misspelt column, as metadata say: they may cost money."""
    if unknown not in ("refuse", "keep"):
        raise template_error("unknown_name", "unknown", f"{unknown!r} is not one of 'refuse', 'keep'")
    error = None if unknown == "keep" else refusal(misspelt_columns(schema))
    if error is not None:
        raise error


Path = str | os.PathLike[str]
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Written:
    """The files that an export has written.

    Args:
        paths: the files, in order.
        requests: how many lines they hold.
        bytes: how long they are together.

    >>> Written(["a.jsonl"], 2, 300)
    Written(paths=['a.jsonl'], requests=2, bytes=300)
    """

    paths: list[str]
    requests: int
    bytes: int


class LineSource(Protocol):
    """Makes the lines of batches of one schema."""

    @property
    def frame(self) -> LineLayout | None:
        """The text around each request, if lines have nothing else of a row."""

    def lines(self, batch: pa.RecordBatch | RenderedLines, first_row: int) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch; a batch is `RenderedLines` only if there is a `frame`."""


class RenderedStream(NamedTuple):
    """Batches that are rendered while they are exported, as `RenderedLines` if possible where lines have a frame."""

    schema: pa.Schema
    batches: Callable[[LineLayout | None], Iterator[pa.RecordBatch | RenderedLines]]


def write_lines(
    table: StreamLike | RenderedStream,
    path: Path,
    source_of: Callable[[pa.Schema], LineSource],
    max_lines: int | None = None,
    max_bytes: int | None = None,
    *,
    unknown: Unknown,
) -> Written:
    """Write a rendered table as lines, in files of bounded size, all of them or none; warn if it has no rows.

    An error of a file is Python's own `OSError`, but an `OutputError` for a `RenderedStream`, which is the command's.
    Rendering itself tells that a `RenderedStream` has no rows.
    """
    if isinstance(table, RenderedStream):
        refuse_misspelt_columns(table.schema, unknown)
        source = source_of(table.schema)
        return write_batches(table.batches(source.frame), path, source, max_lines, max_bytes)
    try:
        reader = as_reader(table)
        refuse_misspelt_columns(reader.schema, unknown)
        written = write_batches(reader, path, source_of(reader.schema), max_lines, max_bytes)
    except OutputError as error:
        raise OSError(str(error)) from error
    warn_of_no_rows(written.requests)
    return written


def write_batches(
    batches: Iterable[pa.RecordBatch | RenderedLines],
    path: Path,
    source: LineSource,
    max_lines: int | None = None,
    max_bytes: int | None = None,
) -> Written:
    rows = 0

    def make_lines(batch: pa.RecordBatch | RenderedLines) -> None:
        nonlocal rows
        for part, first in [(batch, 0)] if isinstance(batch, RenderedLines) else slices(batch):
            write(source.lines(part, rows + first))
        rows += batch.num_rows

    with (
        sharded_lines(os.fspath(path), max_lines, max_bytes) as files,
        background_writer(files.write_all) as write,
        background_writer(make_lines) as make,
    ):
        for batch in batches:
            make(batch)
    return Written(files.paths, files.lines, files.bytes)


Convert = Callable[[pa.RecordBatch, int], Mapping[str, pa.Array]]
"""Makes the values of a batch's lines, keyed by their keys, given the number of its first row."""


class ObjectLines:
    """Makes a line for each row of batches of one schema: kept columns, then the values that `convert` makes.

    `convert` is asked for the values of no rows, too, whose types are those of all rows.
    """

    frame = None

    def __init__(self, schema: pa.Schema, convert: Convert, keep: Sequence[str]) -> None:
        self._convert = convert
        self._keep = keep
        values = convert(no_rows(schema), 0)
        members = kept_members(schema, keep, values)
        for name, array in values.items():
            is_messages = types.is_nested(array.type) and types.is_struct(array.type.value_type)
            members.append((name, Piece("request" if is_messages else "value", column=name)))
        self._schema = pa.schema(
            [*(schema.field(name) for name in keep), *(pa.field(name, array.type) for name, array in values.items())]
        )
        self._writer = LineWriter(self._schema, object_pieces(members))

    def lines(self, batch: pa.RecordBatch, first_row: int) -> list[pa.LargeBinaryArray]:
        kept = [batch.column(batch.schema.get_field_index(name)) for name in self._keep]
        values = self._convert(batch, first_row).values()
        return self._writer.lines(pa.RecordBatch.from_arrays([*kept, *values], schema=self._schema), first_row)


def kept_members(schema: pa.Schema, keep: Sequence[str], keys: Mapping[str, object]) -> list[tuple[str, Piece]]:
    """Return the members of a line for kept columns; refuse one that is kept twice, or has one of `keys`."""
    if isinstance(keep, str):
        raise template_error("wrong_type", "keep", f"expected names of columns, such as [{keep!r}], found a string")
    for name in keep:
        column_field(schema, name)
        if name in keys:
            raise template_error("duplicate_output_column", "keep", f"{name!r} is a key that each line has already")
    if len(set(keep)) < len(keep):
        raise template_error("duplicate_output_column", "keep", "a column is kept twice")
    return [(name, Piece("value", column=name)) for name in keep]


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


_NAME = "sampling_params"

CACHE_KEY = "prompt_cache_key"
"""The name of the parameter of a request, and of the column that holds it."""


def converted_reader(
    reader: pa.RecordBatchReader, convert: Callable[[pa.RecordBatch, int], pa.RecordBatch]
) -> pa.RecordBatchReader:
    """Convert the batches of a stream; `convert` gets the number of a batch's first row, too."""
    schema = convert(no_rows(reader.schema), 0).schema

    def batches() -> Iterator[pa.RecordBatch]:
        first_row = 0
        for batch in reader:
            yield convert(batch, first_row).cast(schema)
            first_row += batch.num_rows

    return pa.RecordBatchReader.from_batches(schema, batches())


def whole_table(reader: pa.RecordBatchReader) -> pa.Table:
    """Read a stream to its end, and warn if it has no rows."""
    rows = reader.read_all()
    warn_of_no_rows(rows.num_rows)
    return rows


def read_whole(make: _Function) -> _Function:
    """Let a function that makes a stream give a table; its `batches` still makes the stream."""

    @wraps(make)
    def whole(*arguments: Any, **options: Any) -> pa.Table:
        return whole_table(make(*arguments, **options))

    whole.__dict__["batches"] = make
    table: Any = whole
    typed: _Function = table
    return typed


def with_sampling_params(
    reader: pa.RecordBatchReader, params: Mapping[str, Any] | None, columns: Mapping[str, str] | None
) -> pa.RecordBatchReader:
    """Append `sampling_params` to the batches of a stream; nothing if there are none."""
    given, of_rows = dict(params or {}), dict(columns or {})
    for name, column in of_rows.items():
        if name in given:
            raise template_error("unknown_key", "sampling_columns", f"{name!r} is in sampling_params too; give it once")
        column_field(reader.schema, column)
    try:
        constants = [pa.scalar(value) for value in given.values()]
    except pa.ArrowException as error:
        raise template_error("wrong_type", _NAME, f"a value has no Arrow type: {error}") from error
    if not given and not of_rows:
        return reader
    if _NAME in reader.schema.names:
        message = f"the table has a column {_NAME!r}, which the parameters are to be; drop or rename it"
        raise render_error("duplicate_output_column", message, column=_NAME)

    def with_params(batch: pa.RecordBatch) -> pa.RecordBatch:
        # Arrow repeats no list or struct zero times.
        values = [pa.repeat(value, max(batch.num_rows, 1)).slice(0, batch.num_rows) for value in constants]
        values += [batch.column(batch.schema.get_field_index(column)) for column in of_rows.values()]
        return batch.append_column(_NAME, pa.StructArray.from_arrays(values, [*given, *of_rows]))

    schema = with_params(no_rows(reader.schema)).schema
    return pa.RecordBatchReader.from_batches(schema, map(with_params, reader))


def schema_with_cache_keys(schema: pa.Schema) -> pa.Schema:
    fields = list(schema)[: -len(SHARED)]
    return pa.schema([*fields, pa.field(CACHE_KEY, pa.string())], schema.metadata)


def with_cache_keys(batches: Iterable[pa.RecordBatch], fingerprint: str) -> Iterator[pa.RecordBatch]:
    """Replace what requests share by a key for each group of requests, in the last column."""
    begin = fingerprint[:8] or "prefix"
    for batch in batches:
        *columns, groups, _ = batch.columns
        keys = pa.array([f"{begin}-{group}" for group in groups.to_pylist()], pa.string())
        yield pa.RecordBatch.from_arrays([*columns, keys], schema=schema_with_cache_keys(batch.schema))
