"""Columns of any type: which hold texts, the memory that they refer to, and tables as bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types

from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.json_columns import holds
from promptpress._core import STRING_LAYOUTS
from promptpress._errors.errors import render_error

LAYOUTS: dict[str, pa.DataType] = {name: getattr(pa, name)() for name in STRING_LAYOUTS}
"""Layouts of strings, keyed by their public names."""

LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)


def is_text(data_type: pa.DataType, *, encoded: bool = False) -> bool:
    """Return true if a column of a type holds strings, or with `encoded` dictionaries or runs of strings."""
    if encoded and is_encoded(data_type):
        return is_text(data_type.value_type, encoded=True)
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type))


def is_encoded(data_type: pa.DataType) -> bool:
    """Return true if a column of a type holds keys or runs in the place of its values."""
    return bool(types.is_dictionary(data_type) or types.is_run_end_encoded(data_type))


def is_messages(data_type: pa.DataType) -> bool:
    """Return true if a column of a type holds lists of messages, each with a speaker and a content."""
    if not isinstance(data_type, LISTS) or not types.is_struct(data_type.value_type):
        return False
    names = {field.name for field in data_type.value_type}
    return names >= {"role", "content"} or names >= {"from", "value"}


def without_views(texts: pa.Array) -> pa.Array:
    """Return texts of a layout that pyarrow's functions know."""
    return texts.cast(pa.large_string()) if types.is_string_view(texts.type) else texts


def table_bytes(table: pa.Table) -> bytes:
    """Write a table down, and nothing else that its buffers hold."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def bytes_table(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def ends_of(texts: pa.LargeBinaryArray | pa.LargeStringArray) -> memoryview:
    """Return where the first of some texts starts, and where each ends: 64-bit numbers, one more than texts."""
    return memoryview(texts.buffers()[1]).cast("q")[texts.offset : texts.offset + len(texts) + 1]


def text_of(texts: pa.LargeBinaryArray | pa.LargeStringArray) -> memoryview:
    """Return the bytes of texts, those of nulls too, one after the other, without a copy."""
    data = texts.buffers()[2]
    if not len(texts) or data is None:
        return memoryview(b"")
    ends = ends_of(texts)
    return memoryview(data)[ends[0] : ends[-1]]


def bytes_of(data: pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray) -> int:
    """Return how many bytes columns refer to: of a slice those of its rows, but for unions, which count as a whole.

    pyarrow's own `nbytes` reads what isn't there in unions whose children have no buffers; they are valid, and any file
    may hold them.
    """
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return sum(map(bytes_of, data.itercolumns()))
    size: int = data.get_total_buffer_size() if holds(data.type, types.is_union) else data.nbytes
    return size


def text_bytes(column: pa.Array) -> int:
    """Count the bytes of text in a column, also in lists and structs."""
    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        if column.null_count == 0 and len(column):
            offsets = memoryview(column.buffers()[1]).cast("q" if types.is_large_string(kind) else "i")
            return int(offsets[column.offset + len(column)] - offsets[column.offset])
        return pc.sum(pc.binary_length(column)).as_py() or 0
    if types.is_string_view(kind):
        return text_bytes(column.cast(pa.large_string()))
    if types.is_list(kind) or types.is_large_list(kind):
        return text_bytes(column.flatten())
    if types.is_struct(kind):
        return sum(text_bytes(column.field(i)) for i in range(kind.num_fields))
    return 0


def one_array(arrays: Sequence[pa.Array], column: str | None = None) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0]
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid as error:
        message = f'{error}; give smaller batches, or strings="large_string"'
        raise render_error("offset_overflow", message, column=column) from error


_FLOATS = re.compile("float|double")


def same_texts(left: pa.Table, right: pa.Table) -> bool:
    """Return true if every value has the same text in both tables: NaN equals NaN, and 0.0 doesn't equal -0.0."""
    if left.schema != right.schema or len(left) != len(right):
        return False
    for mine, theirs in zip(left.columns, right.columns, strict=True):
        if _FLOATS.search(str(mine.type)):
            try:
                same = repr(mine.to_pylist()) == repr(theirs.to_pylist())
            except Exception:  # values that Python can't have, whatever their type raises for it
                written = [table_bytes(pa.table({"": column})) for column in (mine, theirs)]
                same = written[0] == written[1] or mine.equals(theirs)
            if not same:
                return False
        elif not mine.equals(theirs):
            return False
    return True
