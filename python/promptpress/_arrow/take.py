"""Rows of columns of any type, repeated or in any order: pyarrow's `take`, for what it refuses, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.core_tables import checked, unsupported_columns
from promptpress._arrow.json_columns import fields_within, with_fields
from promptpress._errors.errors import render_error

_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def take_rows(column: pa.Array | pa.ChunkedArray, rows: pa.Array) -> list[pa.Array]:
    """Return rows of a column of any type, in several arrays where one would hold more than its offsets can count.

    Row numbers (int64) ascend; each may stand there several times.
    """
    if not types.is_primitive(column.type):
        # Copying believes the offsets of each value, and writes anywhere if they are wrong.
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            raise render_error("malformed_array", f"a column to keep is malformed: {error}") from error
    if isinstance(column, pa.Array):
        return _take_chunked(column, rows)
    out = []
    start = 0
    for chunk in column.chunks:
        end = start + len(chunk)
        chosen = rows
        if column.num_chunks > 1:
            chosen = rows.filter(pc.and_(pc.greater_equal(rows, start), pc.less(rows, end)))
        if len(chosen):
            out += _take_chunked(chunk, pc.subtract(chosen, start))
        start = end
    return out


def rows_in_any_order(column: pa.ChunkedArray, rows: pa.Array) -> pa.Array:
    """Return rows of a column of any type, in any order."""
    by_number = pc.sort_indices(rows)
    ascending = take_rows(column, rows.take(by_number))
    if len(ascending) > 1:
        ascending = [pa.concat_arrays(ascending)]
    if not ascending:
        return pa.array([], column.type)
    # The place of each row among the ascending ones.
    chunks = _take_chunked(ascending[0], pc.sort_indices(by_number).cast(pa.int64()))
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def spread_over_runs(column: pa.Array, values: pa.Array) -> pa.Array:
    """Give each row of a column of runs a value of its run.

    pyarrow decodes runs of numbers and booleans alone. Numbers of a column's values, or marks for them, are such.
    """
    kind = pa.run_end_encoded(column.type.run_end_type, values.type)
    parts = [column.run_ends, values]
    return pc.run_end_decode(pa.Array.from_buffers(kind, len(column), [None], offset=column.offset, children=parts))


def batch_rows(batch: pa.RecordBatch, rows: pa.Array) -> pa.RecordBatch:
    """Return some rows of a batch, whose columns may have any type; row numbers (int64) ascend, each once."""
    if len(rows) == batch.num_rows:
        return batch
    if not len(rows):
        return batch.slice(0, 0)
    return pa.RecordBatch.from_arrays([_column_rows(column, rows) for column in batch.columns], schema=batch.schema)


def _column_rows(column: pa.Array, rows: pa.Array) -> pa.Array:
    """Return rows of a column; texts are copied unread, so that text that isn't UTF-8 is an error of its row alone."""
    if pa.types.is_dictionary(column.type):
        indices = _column_rows(column.indices, rows)
        return pa.DictionaryArray.from_arrays(indices, column.dictionary, ordered=column.type.ordered, safe=False)
    as_bytes = _BYTES.get(column.type)
    chunks = take_rows(column if as_bytes is None else column.view(as_bytes), rows)
    # Each row is taken once at most, so the rows fit into one array as they did before.
    array = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
    return array if as_bytes is None else array.view(column.type)


def _take_chunked(array: pa.Array, rows: pa.Array) -> list[pa.Array]:
    failure: Exception
    if _fits(array, rows):
        try:
            out = _take(array, rows)
            out.validate()  # of nested views pyarrow makes arrays that it refuses itself
            return [out]
        except pa.ArrowNotImplementedError as error:
            message = f"values of type {array.type} can't be repeated: {error}"
            raise render_error("unsupported_column_type", message) from error
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            failure = error
    else:
        failure = OverflowError("one value is longer than its offsets can count")
    # More than 32-bit offsets count, or more run ends than their type counts.
    if len(rows) < 2:
        raise render_error("offset_overflow", f"a value of type {array.type} can't be repeated: {failure}") from failure
    half = len(rows) // 2
    return [*_take_chunked(array, rows.slice(0, half)), *_take_chunked(array, rows.slice(half))]


def _fits(array: pa.Array, rows: pa.Array) -> bool:
    """Return true if the items of lists stay countable by 32 bits, which pyarrow doesn't check."""
    data_type = array.type
    if not (types.is_list(data_type) or types.is_map(data_type)) or len(rows) == 0:
        return True
    lengths = pc.subtract(array.offsets.slice(1), array.offsets.slice(0, len(array)))
    longest = pc.max(lengths).as_py() or 0
    if longest * len(rows) < 2**31:
        return True
    return bool((pc.sum(lengths.cast(pa.int64()).take(rows)).as_py() or 0) < 2**31)


def _take(array: pa.Array, rows: pa.Array) -> pa.Array:
    """`array.take(rows)` for all types; those of views and runs have no such function in pyarrow."""
    data_type = array.type
    if isinstance(data_type, pa.BaseExtensionType):
        return data_type.wrap_array(_take(array.storage, rows))
    if data_type in (pa.string_view(), pa.binary_view()):
        return _take_views(array, rows)
    if types.is_fixed_size_list(data_type) and array.offset:
        # pyarrow 26 takes the wrong items of lists of a fixed size within such lists, if they are a slice.
        array = pa.concat_arrays([array, array.slice(0, 0)])
    if not _holds(data_type, _is_view_or_run):
        return array.take(rows)
    try:
        if types.is_run_end_encoded(data_type):
            values = _take(pc.run_end_decode(array), rows)
            return pc.run_end_encode(values, run_end_type=data_type.run_end_type)
        # Casting gives the null rows of a struct to the keys of its maps, at which pyarrow 25 ends the process.
        if not _holds(data_type, types.is_run_end_encoded) and not _holds(data_type, types.is_map):
            return array.cast(_without_views(data_type)).take(rows).cast(data_type)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        pass
    # Slow, but concatenation knows every type; and taking from runs within other types ends the process in pyarrow 26.
    parts = [array.slice(row, 1) for row in rows.to_pylist()]
    return pa.concat_arrays(parts or [array.slice(0, 0)])


def _take_views(array: pa.Array, rows: pa.Array) -> pa.Array:
    """Take the views alone: the texts that they point to stay where they are, however often one is repeated."""
    validity, views, *texts = array.buffers()
    fixed = pa.Array.from_buffers(pa.binary(16), len(array), [validity, views], offset=array.offset)
    chosen = fixed.take(rows)
    if chosen.offset:
        chosen = pa.concat_arrays([chosen, chosen.slice(0, 0)])
    return pa.Array.from_buffers(array.type, len(chosen), [*chosen.buffers(), *texts])


def _is_view_or_run(data_type: pa.DataType) -> bool:
    return data_type in (pa.string_view(), pa.binary_view()) or types.is_run_end_encoded(data_type)


def _holds(data_type: pa.DataType, is_kind: Callable[[pa.DataType], bool]) -> bool:
    """Return true if a type is of a kind, or holds such a type; the values of a dictionary aren't touched."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _holds(data_type.storage_type, is_kind)
    return is_kind(data_type) or any(_holds(data_type.field(n).type, is_kind) for n in range(data_type.num_fields))


def _without_views(data_type: pa.DataType) -> pa.DataType:
    """Return a type that holds the same values and can be taken from, as far as there is one."""
    if data_type == pa.string_view():
        return pa.large_string()
    if data_type == pa.binary_view():
        return pa.large_binary()
    within = fields_within(data_type)
    return with_fields(data_type, [field.with_type(_without_views(field.type)) for field in within])


_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
"""The types of texts, which the core takes as bytes."""


def rows_in_order(table: pa.Table, rows: pa.Array, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in another order, without copying more than a batch of them at a time."""
    table = checked(table)
    foreign = unsupported_columns(table.schema)
    native = [name for name in table.schema.names if name not in foreign]
    source = _core.RowSource(table.select(native))
    for start in range(0, len(rows), batch_rows):
        chosen = rows.slice(start, batch_rows)
        columns = dict(zip(native, source.take(chosen), strict=True))
        arrays = []
        for field in table.schema:
            if field.name in foreign:
                arrays.append(rows_in_any_order(table.column(field.name), chosen))
            elif field.type in _AS_BYTES:
                arrays.append(columns[field.name].view(field.type))
            else:
                arrays.append(columns[field.name])
        yield pa.RecordBatch.from_arrays(arrays, schema=table.schema)
