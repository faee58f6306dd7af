"""Checks of tables before the core imports them or pyarrow copies them, because an importer believes an array.

pyarrow knows how large each buffer is; after Arrow's C interface nobody knows. It validates in constant time what
a column says of its buffers, but for a few things that are looked at here.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import python_text as _text
from promptpress._arrow.ipc import bytes_table, table_bytes
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
    as Dask's workers get them, lie anywhere.
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
    """Refuse columns that lead out of their buffers.

    Arrow's C interface hands over addresses without lengths, so that an importer believes the offsets of a column.
    This is the last place where the buffers' sizes are known. It takes no longer for many rows than for few.
    """
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
