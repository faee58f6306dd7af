"""Samples from whatever holds Arrow data, as pyarrow sees it and as the core takes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress import _core, _text
from promptpress._errors import render_error
from promptpress._input_checks import checked, in_one_chunk
from promptpress._remedies import not_a_table

__all__ = [
    "Lower",
    "as_reader",
    "as_table",
    "core_schema",
    "for_core",
    "row_numbers",
    "taken",
]

_MAX_DEPTH = 128
"""Types nested deeper would be followed by recursion until some stack ends; JSON's own readers stop there too."""

Lower = Callable[..., Any]
"""Texts of a column's rows: its name and their numbers in, an array of strings out; with True behind, their values."""

_EXTENSION = "ARROW:extension:name"
"""The core leaves the text of a column with this key to `lower`."""

_ROWS = "promptpress.rows"

_TABLE = "ARROW:extension:metadata"
"""Whose rows a column numbers: the samples' or the examples'. Each has a `lower` of its own."""


def as_table(samples: Any) -> pa.Table:
    """Samples as a table.

    Args:
        samples: A pyarrow table, batch, reader, dataset or scanner; a Hugging Face dataset; or anything with the Arrow
            PyCapsule interface, such as a Polars or pandas frame or a DuckDB relation.

    Returns:
        The table; nothing is copied that lies in Arrow's memory already.

    Raises:
        TypeError: If it holds no Arrow data.

    >>> as_table(pa.record_batch({"q": ["1+1=?"]})).num_rows
    1

    """
    if isinstance(samples, pa.Table):
        return samples
    if isinstance(samples, pa.RecordBatch):
        return pa.Table.from_batches([samples])
    if isinstance(samples, pa.RecordBatchReader):
        return samples.read_all()
    if _is("Dataset", samples) or _is("Scanner", samples):
        return samples.to_table()
    if _is_column(samples) or isinstance(samples, Mapping):
        raise not_a_table(samples)
    if hasattr(samples, "with_format") and hasattr(samples, "column_names"):  # a Hugging Face dataset
        if not hasattr(samples, "__len__"):  # one that streams
            raise not_a_table(samples)
        return pa.table(samples.with_format("arrow")[:])
    if hasattr(samples, "__arrow_c_stream__") or hasattr(samples, "__arrow_c_array__"):
        with _told(samples):
            return pa.table(samples)
    raise not_a_table(samples)


def _is_column(samples: Any) -> bool:
    """Whether it has the interface, but for the values of one column; those of structs are rows."""
    return isinstance(samples, (pa.Array, pa.ChunkedArray)) and not types.is_struct(samples.type)


@contextmanager
def _told(samples: Any) -> Iterator[None]:
    """Say of a column of a frame that it is one: Arrow speaks of schemas."""
    try:
        yield
    except pa.ArrowInvalid as error:
        if type(samples).__name__ == "Series":
            raise not_a_table(samples) from error
        raise


def _is(name: str, value: Any) -> bool:
    """Whether it is of a class of pyarrow.dataset, which is slow to import: what was made by it has imported it."""
    dataset = sys.modules.get("pyarrow.dataset")
    return dataset is not None and isinstance(value, getattr(dataset, name))


def as_reader(batches: Any) -> pa.RecordBatchReader:
    """Batches as a stream.

    Args:
        batches: Anything that [`as_table`][promptpress._tables.as_table] takes; readers, scanners and streams are read
            batch by batch. Or an iterable of record batches.

    Returns:
        The stream. Of an iterable, a batch of another schema than the first one's is a RenderError when it is read, and
        what is no batch a TypeError.

    Raises:
        TypeError: If it holds no Arrow data.

    """
    if isinstance(batches, pa.RecordBatchReader):
        return batches
    if _is("Dataset", batches):
        return batches.scanner().to_reader()
    if _is("Scanner", batches):
        return batches.to_reader()
    if _is_column(batches) or isinstance(batches, Mapping):
        raise not_a_table(batches)
    if hasattr(batches, "__arrow_c_stream__") and not isinstance(batches, (pa.Table, pa.RecordBatch)):
        with _told(batches):
            return pa.RecordBatchReader.from_stream(batches)
    if isinstance(batches, Iterable) and not hasattr(batches, "__arrow_c_array__") and not hasattr(batches, "schema"):
        items = iter(batches)
        first = next(items, None)
        if isinstance(first, pa.RecordBatch):
            return pa.RecordBatchReader.from_batches(first.schema, _chain(first, items))
        if items is batches:  # what was taken of it is gone
            raise not_a_table(batches, first)
    return as_table(batches).to_reader()


def _chain(first: pa.RecordBatch, rest: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    yield first
    for number, batch in enumerate(rest, 1):
        if not isinstance(batch, pa.RecordBatch):
            message = f"batch {number}: expected a record batch as the first one is, found {type(batch).__name__}"
            raise TypeError(message)
        if not batch.schema.equals(first.schema):
            difference = _difference(first.schema, batch.schema)
            message = f"batch {number}: its schema is another than that of the first batch: {difference}"
            raise render_error("schema_mismatch", message)
        yield batch


def _difference(expected: pa.Schema, found: pa.Schema) -> str:
    """Say in which column two schemas begin to differ."""
    for one, other in zip(expected, found, strict=False):
        if one.name != other.name:
            return f"it has column {other.name!r} where {one.name!r} was"
        if one.type != other.type:
            return f"column {one.name!r} is {other.type} and was {one.type}"
        if one.nullable != other.nullable:
            return f"column {one.name!r} may {'' if other.nullable else 'not '}be null now"
    return f"it has {len(found)} columns, and {len(expected)} were expected"


def core_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of what `for_core` makes of a table with this one.

    Raises:
        RenderError: If two columns have the same name.

    """
    foreign, _ = _unlike(schema)
    return pa.schema([row_numbers(field.name) if field.name in foreign else field for field in schema])


_latest: tuple[pa.Schema, tuple[list[str], list[str]]] | None = None


def _unlike(schema: pa.Schema) -> tuple[list[str], list[str]]:
    """List the columns that the core has no texts for, and those that hold others; batch after batch has the same."""
    global _latest  # noqa: PLW0603 - whoever reads it while it is set gets one or the other
    known = _latest
    if known is None or not known[0].equals(schema, check_metadata=True):
        foreign = _foreign(schema)
        nested = [field.name for field in schema if field.type.num_fields and field.name not in foreign]
        known = _latest = (schema, (foreign, nested))
    return known[1]


def _foreign(schema: pa.Schema) -> list[str]:
    """List the columns of types that the core has no texts for; refuse names that it can't tell apart."""
    try:
        names = column_names(schema)
        for field in schema:
            if not types.is_primitive(field.type) and _text.depth(field.type, _MAX_DEPTH) >= _MAX_DEPTH:
                message = f"its type is nested more than {_MAX_DEPTH} deep; flatten it"
                raise render_error("column_nested_too_deep", message, column=field.name)
        foreign = [field.name for field in schema if not _text.is_native(field.type) or _claims_row_numbers(field)]
    except UnicodeDecodeError as error:
        message = f"a column or a field of a struct has a name that isn't UTF-8: {error}"
        raise render_error("invalid_column_name", message) from error
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        message = "the table has two columns of this name; rename one"
        raise render_error("duplicate_column", message, column=twice)
    if "\0" in "".join(names):
        message = "a column name holds a NUL character, at which Arrow's C interface cuts names; rename it"
        raise render_error("invalid_column_name", message)
    return foreign


def column_names(schema: pa.Schema) -> list[str]:
    """List a schema's names, which may be any bytes.

    Raises:
        RenderError: If one isn't UTF-8.

    """
    try:
        names: list[str] = schema.names
    except UnicodeDecodeError as error:
        message = f"a column has a name that isn't UTF-8: {error}"
        raise render_error("invalid_column_name", message) from error
    return names


def _claims_row_numbers(field: pa.Field) -> bool:
    """Whether a column of the user looks like what `row_numbers` makes: its values are read here then."""
    metadata = field.metadata or {}
    return metadata.get(_EXTENSION.encode()) == _ROWS.encode()


def row_numbers(name: str, of: Literal["samples", "examples"] = "samples") -> pa.Field:
    """Return the field of a column that has row numbers of a table in the place of its values."""
    return pa.field(name, pa.int64(), metadata={_EXTENSION: _ROWS, _TABLE: of})


def for_core(
    table: pa.Table, first_row: int = 0, of: Literal["samples", "examples"] = "samples"
) -> tuple[pa.Table, Lower]:
    """Prepare a table for the core, which has no texts for some types, and believes what an array says of its buffers.

    Args:
        table: The samples, or the examples.
        first_row: Number of the table's first row among all samples, from which errors count.
        of: Which of both; the core asks the one's `lower` or the other's.

    Returns:
        The table with such columns replaced by row numbers, and the function that gives the texts of rows by their
        numbers, in any order. It is called when the texts are needed, which they seldom are for a column that no
        template names.

    Raises:
        RenderError: If two columns have the same name, or a column's buffers are smaller than the column says.

    """
    foreign, nested = _unlike(table.schema)
    table = checked(table)
    if of == "examples":
        table = in_one_chunk(table)
    out = _text.lower(table, nested)
    for name in foreign:
        at = out.schema.get_field_index(name)
        rows = _core.repeated_rows(0, len(table), 1)
        out = out.set_column(at, row_numbers(name, of), rows)

    def lower(name: str, rows: pa.Array, values: bool = False) -> Any:
        shown = name if of == "samples" else f"examples.{name}"
        column = table.select([name]).rename_columns([shown])
        runs = _runs(rows.to_pylist())
        if values:
            own = column.column(0)
            parts = (_text.values(own.slice(first, count), shown, first_row + first) for first, count in runs)
            return [value for part in parts for value in part]
        texts = [
            chunk
            for first, count in runs
            for chunk in _text.lower(column.slice(first, count), [shown], first_row=first_row + first).column(0).chunks
        ]
        return pa.concat_arrays(texts) if texts else pa.array([], pa.large_string())

    return out, lower


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first number and the length of each run of numbers that follow each other."""
    start = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at] != rows[at - 1] + 1:
            yield rows[start], at - start
            start = at


def taken(column: pa.Array | pa.ChunkedArray, rows: pa.Array) -> list[pa.Array]:
    """Repeat rows of a column of any type.

    Args:
        column: A column or a part of it.
        rows: Row numbers (int64) in ascending order; each may stand there several times.

    Returns:
        The rows in arrays of the column's type: several where one would hold more than its offsets can count.

    Raises:
        RenderError: If pyarrow can't copy values of the type at all, or the column is malformed.

    >>> taken(pa.array(["a", "b"], pa.string_view()), pa.array([0, 0, 1]))[0].to_pylist()
    ['a', 'a', 'b']

    """
    if not types.is_primitive(column.type):
        # Copying believes the offsets of each value, and writes anywhere if they are wrong.
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            message = f"a column to keep is malformed: {error}"
            raise render_error("malformed_array", message) from error
    if isinstance(column, pa.Array):
        return _taken(column, rows)
    out = []
    start = 0
    for chunk in column.chunks:
        end = start + len(chunk)
        own = rows
        if column.num_chunks > 1:
            own = rows.filter(pc.and_(pc.greater_equal(rows, start), pc.less(rows, end)))
        if len(own):
            out += _taken(chunk, pc.subtract(own, start))
        start = end
    return out


def _taken(array: pa.Array, rows: pa.Array) -> list[pa.Array]:
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
        message = f"a value of type {array.type} can't be repeated: {failure}"
        raise render_error("offset_overflow", message) from failure
    half = len(rows) // 2
    return [*_taken(array, rows.slice(0, half)), *_taken(array, rows.slice(half))]


def _fits(array: pa.Array, rows: pa.Array) -> bool:
    """Whether the items of lists stay countable by 32 bits, which pyarrow doesn't check."""
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
    if not _holds_views_or_runs(data_type):
        return array.take(rows)
    try:
        if types.is_run_end_encoded(data_type):
            values = _take(pc.run_end_decode(array), rows)
            return pc.run_end_encode(values, run_end_type=data_type.run_end_type)
        if not _holds_runs(data_type):
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
    own = fixed.take(rows)
    if own.offset:
        own = pa.concat_arrays([own, own.slice(0, 0)])
    return pa.Array.from_buffers(array.type, len(own), [*own.buffers(), *texts])


def _holds_views_or_runs(data_type: pa.DataType) -> bool:
    if data_type in (pa.string_view(), pa.binary_view()) or types.is_run_end_encoded(data_type):
        return True
    if isinstance(data_type, pa.BaseExtensionType):
        return _holds_views_or_runs(data_type.storage_type)
    # The values of a dictionary aren't touched.
    return any(_holds_views_or_runs(data_type.field(n).type) for n in range(data_type.num_fields))


def _holds_runs(data_type: pa.DataType) -> bool:
    if types.is_run_end_encoded(data_type):
        return True
    if isinstance(data_type, pa.BaseExtensionType):
        return _holds_runs(data_type.storage_type)
    return any(_holds_runs(data_type.field(n).type) for n in range(data_type.num_fields))


def _without_views(data_type: pa.DataType) -> pa.DataType:
    """Return a type that holds the same values and can be taken from, as far as there is one."""
    if data_type == pa.string_view():
        return pa.large_string()
    if data_type == pa.binary_view():
        return pa.large_binary()
    if types.is_struct(data_type):
        return pa.struct([field.with_type(_without_views(field.type)) for field in data_type])
    if types.is_list(data_type) or types.is_large_list(data_type):
        make = pa.list_ if types.is_list(data_type) else pa.large_list
        return make(data_type.value_field.with_type(_without_views(data_type.value_type)))
    if types.is_fixed_size_list(data_type):
        item = data_type.value_field.with_type(_without_views(data_type.value_type))
        return pa.list_(item, data_type.list_size)
    return data_type
