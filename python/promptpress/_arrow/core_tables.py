"""Tables as the core takes them, checked before it imports them or pyarrow copies them.

An importer believes an array: pyarrow knows how large each buffer is; after Arrow's C interface nobody knows. pyarrow
validates in constant time what a column says of its buffers, but for a few things that are looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import python_text as _text
from promptpress._arrow.columns import bytes_table, table_bytes
from promptpress._arrow.json_columns import is_json
from promptpress._core import StreamState
from promptpress._errors.errors import render_error

_VALIDATED_TYPES = frozenset(
    kind.id
    for kind in (
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.bool_()),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64()),
    )
)
"""Types of which pyarrow looks at everything, and that nothing lies within."""


_UNCHECKED_BUFFERS = {
    pa.string_view().id: (1,),
    pa.binary_view().id: (1,),
    pa.list_view(pa.null()).id: (1, 2),
    pa.large_list_view(pa.null()).id: (1, 2),
    pa.sparse_union([]).id: (1,),
    pa.dense_union([]).id: (1, 2),
}
"""Buffers of types that pyarrow validates without looking whether they are there."""


def checked(table: pa.Table) -> pa.Table:
    """Check what a table's arrays say of their buffers, and lay out anew what the core can't read where it lies.

    The core reads offsets where they are, and Arrow asks for multiples of 8. Frames that were unpickled without a copy,
    as Dask's workers get them, lie anywhere. The table is cut where any column's chunks end, as on its way to the core.
    """
    if _is_plain(table):
        return table
    odd, nested, several = [], [], False
    for index, column in enumerate(table.itercolumns()):
        try:
            chunks = column.chunks
        except KeyError as error:
            name = table.schema.field(index).name
            message = f"pyarrow knows its type, {column.type}, but has no arrays of it"
            raise render_error("unsupported_column_type", message, column=name) from error
        several = several or len(chunks) > 1
        if True in [_is_odd(chunk) for chunk in chunks]:  # all of them: any would stop at the first
            odd.append(index)
        if column.type.id not in _VALIDATED_TYPES:
            nested.append(index)
    check_buffers(table)
    # What lies within an array is looked at only when the array is known to hold it.
    odd += [index for index in nested if any(list(map(_is_odd_within, table.column(index).iterchunks())))]
    for index in odd:
        column = table.select([index])
        check_values(column)
        table = table.set_column(index, table.schema.field(index), bytes_table(table_bytes(column)).column(0))
    if several:
        table = pa.Table.from_batches(table.to_batches(), table.schema)
        check_buffers(table)
    return table


_plain_schema: pa.Schema | None = None
"""One whose columns are of validated types alone: batch after batch has the same."""


def _is_plain(table: pa.Table) -> bool:
    """Return true if a table is sound and lies where the core reads it, as most do: it takes a fraction of the time.

    Its rows are one batch, as which it goes to the core. False says nothing.
    """
    global _plain_schema  # noqa: PLW0603 - whoever reads it while it is set gets one or the other
    schema = table.schema
    if _plain_schema is None or not schema.equals(_plain_schema):
        if any(data_type.id not in _VALIDATED_TYPES for data_type in schema.types):
            return False
        _plain_schema = schema
    batches = table.to_batches()
    if len(batches) != 1 or not batches[0].num_rows or not _core.is_aligned(batches[0]):
        return False
    check_buffers(table)
    return True


def check_buffers(table: pa.Table | pa.RecordBatch) -> None:
    """Refuse columns that lead out of their buffers; it takes no longer for many rows than for few."""
    try:
        table.validate()
    except pa.ArrowException as error:
        for name, column in zip(table.column_names, table.columns, strict=True):
            try:
                column.validate()
            except pa.ArrowException as cause:
                raise render_error("malformed_array", f"the Arrow array is malformed: {cause}", column=name) from cause
        raise render_error("malformed_array", f"the table is malformed: {error}") from error


def check_values(table: pa.Table | pa.RecordBatch) -> None:
    """Refuse columns of which any value leads out of its buffers, before pyarrow copies or compares them."""
    check_buffers(table)
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise render_error("malformed_array", f"the table is malformed: {error}") from error


def in_one_chunk(table: pa.Table) -> pa.Table:
    """Put chunks together, as far as pyarrow can; the core does so with the rest."""
    if all(column.num_chunks < 2 for column in table.itercolumns()):
        return table
    check_values(table)
    try:
        return table.combine_chunks()
    except pa.ArrowException:  # dictionaries that have no common one
        return table


def _is_odd(array: pa.Array) -> bool:
    """Return true if a buffer lies at an odd address; those of dictionaries don't count."""
    if array.offset < 0:
        raise render_error("malformed_array", "the table is malformed: an array starts before its buffers")
    buffers = array.buffers()
    if array.offset and not len(array) and _starts_after(array, buffers):
        raise render_error("malformed_array", "the table is malformed: an array starts behind its buffers")
    if array.type.id not in _VALIDATED_TYPES:
        _check_kind(array, buffers)
    for buffer in buffers:  # noqa: SIM110 - a generator takes as long again as all the rest, for each small table
        if buffer is not None and buffer.address % 8:
            return True
    return False


def _starts_after(array: pa.Array, buffers: list[pa.Buffer | None]) -> bool:
    """Return true if an empty array's offset leads out of its second buffer: values, keys, offsets or views."""
    data_type = array.type
    is_nested = types.is_nested(data_type) or types.is_run_end_encoded(data_type)
    if isinstance(data_type, pa.BaseExtensionType) or is_nested or types.is_null(data_type):
        return False  # the second buffer is another's, or there is none
    try:
        width = data_type.bit_width
    except ValueError:
        width = 32  # offsets, at the least
    return len(buffers) < 2 or buffers[1] is None or buffers[1].size * 8 < array.offset * width


def _check_kind(array: pa.Array, buffers: list[pa.Buffer | None]) -> None:
    """Refuse what types that aren't plain may lack."""
    data_type = array.type
    if (
        data_type.id in _UNCHECKED_BUFFERS
        and len(array)
        and any(buffers[n] is None for n in _UNCHECKED_BUFFERS[data_type.id])
    ):
        raise render_error("malformed_array", f"the table is malformed: an array of type {data_type} lacks a buffer")
    if types.is_fixed_size_list(data_type) and (array.offset + len(array)) * data_type.list_size > len(array.values):
        raise render_error("malformed_array", "the table is malformed: lists of a fixed size end behind their items")


def _is_odd_within(array: pa.Array) -> bool:
    """Return true if `_is_odd` of any array within another."""
    within = _text.children(array)
    odd = list(map(_is_odd, within))
    return any([*odd, *map(_is_odd_within, within)])


_MAX_DEPTH = 128
"""Types nested deeper would be followed by recursion until some stack ends; JSON's own readers stop there too."""

PythonText = Callable[..., Any]
"""Gives the texts of a column's rows, or with True their values: takes the column's name and the rows' numbers."""

_EXTENSION_NAME_KEY = "ARROW:extension:name"
"""The key by which a field names its extension type; the core leaves columns of `promptpress.rows` to Python."""

_ROW_NUMBERS_EXTENSION = "promptpress.rows"

_EXTENSION_METADATA_KEY = "ARROW:extension:metadata"
"""Whose rows a column numbers: the samples' or the examples'. Each has a `PythonText` of its own."""


def core_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of what `for_core` makes of a table with this one."""
    foreign = unsupported_columns(schema)
    return pa.schema([row_numbers(field.name) if field.name in foreign else field for field in schema])


_latest: tuple[pa.Schema, list[str]] | None = None


def unsupported_columns(schema: pa.Schema) -> list[str]:
    """List the columns that the core has no texts for; batch after batch has the same."""
    global _latest  # noqa: PLW0603 - whoever reads it while it is set gets one or the other
    latest = _latest
    if latest is None or not latest[0].equals(schema, check_metadata=True):
        latest = _latest = (schema, _foreign(schema))
    return latest[1]


def _foreign(schema: pa.Schema) -> list[str]:
    """List the columns of types that the core has no texts for; refuse names that it can't tell apart."""
    try:
        names = column_names(schema)
        for field in schema:
            if not types.is_primitive(field.type) and _text.depth(field.type, _MAX_DEPTH) >= _MAX_DEPTH:
                message = f"its type is nested more than {_MAX_DEPTH} deep; flatten it"
                raise render_error("column_nested_too_deep", message, column=field.name)
        foreign = [field.name for field in schema if _is_foreign(field)]
    except UnicodeDecodeError as error:
        message = f"a column or a field of a struct has a name that isn't UTF-8: {error}"
        raise render_error("invalid_column_name", message) from error
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise render_error("duplicate_column", "the table has two columns of this name; rename one", column=twice)
    if "\0" in "".join(names):
        message = "a column name holds a NUL character, at which Arrow's C interface cuts names; rename it"
        raise render_error("invalid_column_name", message)
    return foreign


def column_names(schema: pa.Schema) -> list[str]:
    """List a schema's names, which may be any bytes."""
    try:
        names: list[str] = schema.names
    except UnicodeDecodeError as error:
        raise render_error("invalid_column_name", f"a column has a name that isn't UTF-8: {error}") from error
    return names


def _is_foreign(field: pa.Field) -> bool:
    """Return true for a column that the core has no texts for; those of JSON are made when they are needed."""
    # A column of the user's that looks like one that `row_numbers` makes is read here.
    is_numbered = (field.metadata or {}).get(_EXTENSION_NAME_KEY.encode()) == _ROW_NUMBERS_EXTENSION.encode()
    return not _text.is_native(field.type) or is_json(field) or is_numbered


def row_numbers(name: str, of: Literal["samples", "examples"] = "samples") -> pa.Field:
    """Return the field of a column that has row numbers of a table in the place of its values."""
    return pa.field(
        name, pa.int64(), metadata={_EXTENSION_NAME_KEY: _ROW_NUMBERS_EXTENSION, _EXTENSION_METADATA_KEY: of}
    )


def for_core(
    table: pa.Table, first_row: int = 0, of: Literal["samples", "examples"] = "samples"
) -> tuple[pa.Table, PythonText]:
    """Return a checked table with row numbers for columns that the core has no texts for, and a function for the texts.

    The function takes rows in any order. It is called when texts are needed, which they seldom are for a column that no
    template names.
    """
    foreign = unsupported_columns(table.schema)
    table = checked(table)
    if of == "examples":
        table = in_one_chunk(table)
    out = table
    for name in foreign:
        rows = _core.repeated_rows(0, len(table), 1)
        out = out.set_column(out.schema.get_field_index(name), row_numbers(name, of), rows)

    def python_text(name: str, rows: pa.Array, values: bool = False) -> Any:
        path = name if of == "samples" else f"examples.{name}"
        column = table.select([name]).rename_columns([path])
        runs = _runs(rows.to_pylist())
        if values:
            array = column.column(0)
            field = column.schema.field(0)
            parts = (_text.values(array.slice(first, count), path, first_row + first, field) for first, count in runs)
            return [value for part in parts for value in part]
        texts = [
            chunk
            for first, count in runs
            for chunk in _text.with_texts(column.slice(first, count), [path], first_row=first_row + first)
            .column(0)
            .chunks
        ]
        return pa.concat_arrays(texts) if texts else pa.array([], pa.large_string())

    return out, python_text


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first number and the length of each run of numbers that follow each other."""
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end] != rows[end - 1] + 1:
            yield rows[start], end - start
            start = end


_printable_installed = False


def install_printable() -> None:
    """Give the core this interpreter's printable characters, once."""
    global _printable_installed  # noqa: PLW0603 - once a process
    if not _printable_installed:
        _core.set_printable(_text.printable_bitmap())
        _printable_installed = True


def warm_up() -> None:
    """Let the core and pyarrow meet while this module is imported.

    What the bindings look up in Python they look up once, and without the interpreter's lock. A process that another
    thread forked in the midst of it would wait for that look-up for ever.
    """
    schema = pa.schema([pa.field("x", pa.string()), row_numbers("y")])
    # Arrays that are made without Python's values: pyarrow would import pandas to look at those.
    table = pa.Table.from_arrays([pa.nulls(1, pa.string()), _core.repeated_rows(0, 1, 1)], schema=schema)
    core = _core.CompiledRenderer({"prompt_template": "{x}{y}", "dialect": "opencompass"}, None, None, _text_of_row)
    core.output_fields(schema)
    core.render(table, None, StreamState(), False, _text_of_row)


def _text_of_row(_name: str, _rows: pa.Array) -> pa.Array:
    return pa.nulls(1, pa.string())
