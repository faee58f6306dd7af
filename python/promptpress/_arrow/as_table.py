"""Samples in any form as tables and streams: Arrow data, values of Python, and files; all renderers use it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from promptpress._arrow.json_columns import fields_within, holds_json, is_json, json_field, json_values, with_fields
from promptpress._arrow.python_rows import EXACT, ValueReading, columns_table, excerpt, is_exact, rows_table
from promptpress._errors.errors import counted, not_a_table, render_error

if TYPE_CHECKING:
    from promptpress_workbench.files.read.samples import Samples

_STREAM_ROWS = 8192
"""The number of rows of a batch that is made of single rows, a lazy frame or a dataset that streams."""

_REMEDY = "types are those of the first 8,192 rows: make record batches of the rows, which have a schema"

_CAST = "; cast the dataset to features that fit all rows"


def as_table(samples: Any, reading: ValueReading = EXACT) -> pa.Table:  # noqa: PLR0911 - a return for each kind of thing
    """Return samples as a table, without copying Arrow data.

    Args:
        samples: A pyarrow table, batch, reader, dataset or scanner; a Hugging Face dataset, also one that streams;
            anything with the Arrow PyCapsule interface, such as a Polars or pandas frame or a DuckDB relation; a Polars
            LazyFrame; rows as dicts, of a list or a generator, or columns as a dict of lists; or the path of a file, as
            the command reads it.
        reading: Decides which columns of Python's values are JSON.

    Raises:
        RenderError: If a file can't be read, or values of Python have no type in Arrow.
        TypeError: If it is none of these.

    >>> as_table(pa.record_batch({"q": ["1+1=?"]})).num_rows
    1
    """
    if isinstance(samples, pa.Table):
        return samples
    if isinstance(samples, pa.RecordBatch):
        return pa.Table.from_batches([samples])
    if isinstance(samples, pa.RecordBatchReader):
        return samples.read_all()
    if _is_dataset_class("Dataset", samples) or _is_dataset_class("Scanner", samples):
        return samples.to_table()
    if isinstance(samples, (str, os.PathLike)):
        with _file(samples, reading) as files:
            return files.table()
    if (table := _python_table(samples, reading)) is not None:
        return table
    if _is_column(samples) or isinstance(samples, Mapping):
        raise not_a_table(samples)
    if _is_lazy_frame(samples):
        _refuse_objects(samples.collect_schema())
        return pa.table(samples.collect(engine="streaming"))
    if _is_hugging_face(samples):
        return (
            as_reader(samples).read_all()
            if not hasattr(samples, "__len__")
            else pa.table(samples.with_format("arrow")[:])
        )
    if is_relation(samples):
        return relation_reader(samples).read_all()
    if hasattr(samples, "__arrow_c_stream__") or hasattr(samples, "__arrow_c_array__"):
        with _frame_errors(samples):
            return pa.table(samples)
    if isinstance(samples, Iterator):
        return _iterated_table(samples, reading)
    raise not_a_table(samples)


def _iterated_table(items: Iterator[Any], reading: ValueReading) -> pa.Table:
    """Make a table of all rows or batches of an iterator."""
    first = next(items, None)
    if isinstance(first, pa.RecordBatch):
        return pa.Table.from_batches(_chain(first, items), first.schema)
    if not isinstance(first, Mapping):
        raise not_a_table([] if first is None else items, first)
    return rows_table([_checked_row(number, row) for number, row in enumerate(chain([first], items))], reading=reading)


def _checked_row(number: int, row: Any) -> Mapping[Any, Any]:
    if not isinstance(row, Mapping):
        raise TypeError(f"row {number}: expected a dict, as the rows before it are, found {type(row).__name__}")
    return row


def _is_column(samples: Any) -> bool:
    """Return true for an Arrow column that isn't of structs, which are rows."""
    return isinstance(samples, (pa.Array, pa.ChunkedArray)) and not types.is_struct(samples.type)


@contextmanager
def _frame_errors(samples: Any) -> Iterator[None]:
    """Raise clear errors for frames: Arrow's are about schemas, and it reads pointers to objects as bytes."""
    kind = type(samples)
    package = kind.__module__.partition(".")[0]
    if package == "polars":
        _refuse_objects(samples.schema if kind.__name__ == "DataFrame" else {})
    try:
        yield
    except (ValueError, pa.ArrowTypeError) as error:
        if kind.__name__ == "Series":
            raise not_a_table(samples) from error
        if package != "pandas":
            raise
        of_column = " ".join(str(part) for part in error.args)
        remedy = "; give the column one type, as by astype(str)" if "Conversion failed" in of_column else ""
        message = f"pandas can't give its values to Arrow: {of_column}{remedy}"
        raise render_error("unconvertible_value", message) from error


def _refuse_objects(schema: Mapping[str, Any]) -> None:
    for name, kind in schema.items():
        if str(kind) == "Object":
            message = "Polars holds it as Python objects, which are no values to Arrow; give it a type of Polars'"
            raise render_error("unconvertible_value", message, column=name)


def _is_dataset_class(name: str, value: Any) -> bool:
    """Return true for an instance of a class of pyarrow.dataset, which must be imported if there is an instance."""
    dataset = sys.modules.get("pyarrow.dataset")
    return dataset is not None and isinstance(value, getattr(dataset, name))


def as_reader(batches: Any, reading: ValueReading = EXACT) -> pa.RecordBatchReader:  # noqa: PLR0911, PLR0912 - for each kind of thing
    """Return anything that `as_table` takes, or an iterable of record batches or of dicts, as a stream.

    Readers, scanners and streams are read batch by batch. When an item of an iterable is read, a batch of another
    schema than the first raises RenderError, and anything else TypeError.
    """
    if isinstance(batches, pa.RecordBatchReader):
        return batches
    if _is_dataset_class("Dataset", batches):
        return batches.scanner().to_reader()
    if _is_dataset_class("Scanner", batches):
        return batches.to_reader()
    if isinstance(batches, (str, os.PathLike)):
        return _file_reader(batches, reading)
    if (table := _python_table(batches, reading)) is not None:
        return table.to_reader()
    if _is_column(batches) or isinstance(batches, Mapping):
        raise not_a_table(batches)
    if _is_lazy_frame(batches):
        return _lazy_reader(batches)
    if _is_hugging_face(batches) and not hasattr(batches, "__len__"):
        return _stream_reader(batches)
    if is_relation(batches):
        return relation_reader(batches)
    if hasattr(batches, "__arrow_c_stream__") and not isinstance(batches, (pa.Table, pa.RecordBatch)):
        with _frame_errors(batches):
            return pa.RecordBatchReader.from_stream(batches)
    if isinstance(batches, Iterable) and not hasattr(batches, "__arrow_c_array__") and not hasattr(batches, "schema"):
        items = iter(batches)
        first = next(items, None)
        if isinstance(first, pa.RecordBatch):
            return pa.RecordBatchReader.from_batches(first.schema, _chain(first, items))
        if isinstance(first, Mapping) and not isinstance(batches, (list, tuple)):
            return rows_reader(chain([first], items), reading)
        if items is batches:  # an iterator has lost its first item
            raise not_a_table(batches, first) if first is not None else not_a_table([])
    return as_table(batches).to_reader()


def _python_table(samples: Any, reading: ValueReading) -> pa.Table | None:
    """Make a table of rows or columns of Python's values; return None for anything else."""
    if isinstance(samples, (list, tuple)) and samples and all(isinstance(row, Mapping) for row in samples):
        return rows_table(samples, reading=reading)
    if isinstance(samples, Mapping) and samples and all(map(_is_values, samples.values())):
        return columns_table(samples, reading)
    return None


def _is_values(values: Any) -> bool:
    """Return true for the values of a column; a text has a length, too, but is one value."""
    if isinstance(values, (list, tuple, pa.Array, pa.ChunkedArray)):
        return True
    return hasattr(values, "__array__") and len(getattr(values, "shape", ())) == 1


def _is_lazy_frame(samples: Any) -> bool:
    return hasattr(samples, "collect_schema") and hasattr(samples, "collect") and type(samples).__name__ == "LazyFrame"


def _is_hugging_face(samples: Any) -> bool:
    if not callable(getattr(samples, "with_format", None)) or not hasattr(samples, "column_names"):
        return False
    form = getattr(samples, "format", None)
    if isinstance(form, Mapping) and form.get("type") == "custom":
        raise TypeError(
            "the dataset has a transform, which makes rows as they are asked for, and isn't applied to its Arrow data; "
            "apply it by samples.map(...), or drop it by samples.with_format(None)"
        )
    return True


def _lazy_reader(frame: Any) -> pa.RecordBatchReader:
    """Read a LazyFrame batch by batch if this version of Polars can, or else at once."""
    _refuse_objects(frame.collect_schema())
    if not hasattr(frame, "collect_batches"):
        return pa.table(frame.collect(engine="streaming")).to_reader()
    schema = pa.table(frame.head(0).collect()).schema
    parts = (pa.table(part).cast(schema) for part in frame.collect_batches(chunk_size=_STREAM_ROWS, engine="streaming"))
    return pa.RecordBatchReader.from_batches(schema, (batch for part in parts for batch in part.to_batches()))


def _stream_reader(dataset: Any) -> pa.RecordBatchReader:
    """Read a Hugging Face dataset that streams, with the types of its first rows."""
    tables = _arrow_tables(dataset)
    features = getattr(dataset, "features", None)
    first = next(tables, None)
    schema = first.schema if first is not None else features.arrow_schema if features else pa.schema([])
    schema = schema.remove_metadata()

    def batches() -> Iterator[pa.RecordBatch]:
        for number, table in enumerate(chain([first] if first is not None else [], tables)):
            yield from _with_schema(table, schema, number).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _arrow_tables(dataset: Any) -> Iterator[pa.Table]:
    try:
        yield from dataset.with_format("arrow").iter(batch_size=_STREAM_ROWS)
    except pa.ArrowException as error:  # the library concatenates rows of different types
        raise render_error("schema_mismatch", f"its rows differ: {str(error).splitlines()[0]}{_CAST}") from error


def _with_schema(table: pa.Table, schema: pa.Schema, number: int) -> pa.Table:
    """Cast columns of nulls to the types of the first rows; raise `schema_mismatch` for other types."""
    actual = table.schema.remove_metadata()
    if actual.names == schema.names:
        fields = [old if pa.types.is_null(new.type) else new for old, new in zip(schema, actual, strict=True)]
        if pa.schema(fields).equals(schema):
            return table.cast(schema)
    message = f"batch {number}: its schema is another than that of the first: {_difference(schema, actual)}{_CAST}"
    raise render_error("schema_mismatch", message)


@contextmanager
def _file(path: str | os.PathLike[str], reading: ValueReading) -> Iterator[Samples]:
    """Open a file of samples; its errors have the path."""
    from promptpress_workbench.files.read.samples import Samples  # noqa: PLC0415

    from promptpress._errors.file_errors import DataError, located  # noqa: PLC0415 - for files only

    name = os.fspath(path)
    if not isinstance(name, str):
        raise not_a_table(path)
    try:
        files = Samples([name], harness_types=reading.harness_types)
        try:
            yield files
        finally:
            files.close()
    except DataError as error:
        raise located(error, name) from error.__cause__


def _file_reader(path: str | os.PathLike[str], reading: ValueReading) -> pa.RecordBatchReader:
    """Read a file batch by batch; it stays open as long as the reader exists."""

    def batches() -> Iterator[Any]:
        with _file(path, reading) as files:
            yield files.schema
            yield from files.reader()

    schema_then_batches = batches()
    return pa.RecordBatchReader.from_batches(next(schema_then_batches), schema_then_batches)


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


def _difference(expected: pa.Schema, actual: pa.Schema) -> str:
    for old, new in zip(expected, actual, strict=False):
        if old.name != new.name:
            return f"it has column {new.name!r} where {old.name!r} was"
        if old.type != new.type:
            return f"column {old.name!r} is {new.type} and was {old.type}"
        if old.nullable != new.nullable:
            return f"column {old.name!r} may {'' if new.nullable else 'not '}be null now"
    return f"it has {len(actual)} columns, and {len(expected)} were expected"


def rows_reader(rows: Iterable[Any], reading: ValueReading = EXACT) -> pa.RecordBatchReader:
    """Read rows batch by batch, with the columns and types of the first batch; a key that a row lacks is null."""
    remaining = iter(rows)
    first = _next_table(remaining, 0, reading, frozenset())
    # All batches have JSON where the first one has.
    json_names = frozenset(field.name for field in first.schema if is_json(field))

    def batches() -> Iterator[pa.RecordBatch]:
        start = 0
        table = first
        while table.num_rows:
            yield from _with_columns(table, first.schema, start).to_batches()
            start += table.num_rows
            table = _next_table(remaining, start, reading, json_names)

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _next_table(rows: Iterator[Any], start: int, reading: ValueReading, json_names: frozenset[str]) -> pa.Table:
    """Make a table of the next rows, the first of which has the number `start`."""
    some = [_checked_row(number, row) for number, row in enumerate(islice(rows, _STREAM_ROWS), start)]
    return rows_table(some, start, reading, json_names)


def _with_columns(table: pa.Table, schema: pa.Schema, start: int) -> pa.Table:
    """Give a table the columns of the first one; only nulls fit another type."""
    columns = dict(zip(table.schema.names, table.columns, strict=True))
    for name in columns:
        if name not in schema.names:
            raise render_error("schema_mismatch", f"the rows before have no such key; {_REMEDY}", start, name)
    arrays = []
    for field in schema:
        column = columns.get(field.name)
        if column is None or pa.types.is_null(column.type):
            arrays.append(pa.nulls(table.num_rows, field.type))
        elif is_json(table.schema.field(field.name)) and not is_json(field):
            raise _other_kind(column, table.schema.field(field.name), field, start)
        elif column.type != field.type:
            rows = counted(table.num_rows, "row")
            message = f"the type of the next {rows} is {column.type}, and of those before {field.type}; {_REMEDY}"
            raise render_error("schema_mismatch", message, start, field.name)
        else:
            arrays.append(column)
    return pa.Table.from_arrays(arrays, schema=schema)


def _other_kind(column: pa.ChunkedArray, json: pa.Field, field: pa.Field, start: int) -> Exception:
    """Make the error for the first value of a column that isn't of the type that the rows before have."""
    values = [value for chunk in column.chunks for value in json_values(chunk, json, pa.Array.to_pylist)]
    row = next((row for row, value in enumerate(values) if not _fits(value, field.type)), 0)
    message = f"{excerpt(values[row])} isn't {field.type}, as the rows before have it; {_REMEDY}"
    return render_error("schema_mismatch", message, start + row, field.name)


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return is_exact([value], kind)


def is_relation(samples: Any) -> bool:
    return type(samples).__name__ == "DuckDBPyRelation"


def relation_reader(relation: Any) -> pa.RecordBatchReader:
    """Read a relation batch by batch, with columns of JSON where it has some."""
    reader = pa.RecordBatchReader.from_stream(relation)
    fields = [_with_json(field, kind) for field, kind in zip(reader.schema, relation.types, strict=True)]
    if not any(map(holds_json, fields)):
        return reader
    schema = pa.schema(fields, reader.schema.metadata)
    batches = (
        pa.RecordBatch.from_arrays(
            [column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)], schema=schema
        )
        for batch in reader
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def _with_json(field: pa.Field, kind: Any) -> pa.Field:
    """Return the field of a relation's column or of what is within it, with JSON where DuckDB's type says so."""
    if str(kind) == "JSON":
        return json_field(field.name)
    if not field.type.num_fields:
        return field
    children = [child for _, child in kind.children if not isinstance(child, int)]  # an array has its size
    return field.with_type(with_fields(field.type, list(map(_with_json, fields_within(field.type), children))))
