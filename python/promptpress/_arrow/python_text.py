"""Field texts that need Python: columns whose type the core can't print, and the interpreter's printable characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.json_columns import (
    all_fields,
    fields_within,
    holds,
    holds_json,
    is_json,
    json_texts,
    json_values,
    named_json_field,
    without_json,
)
from promptpress._errors.errors import render_error

_NATIVE = frozenset(
    kind.id
    for kind in (
        *(pa.string(), pa.large_string(), pa.string_view(), pa.bool_(), pa.null()),
        *(pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    )
)
"""Types that nearly all columns have, and that need no closer look."""

_BINARY_DIGITS = b"01" + bytes(254)
"""Turns the bytes 0 and 1 into digits."""


def is_native(data_type: pa.DataType) -> bool:
    """Return true if the core prints values of `data_type` itself.

    The core says so, but for what it can't see: an extension type looks like its storage, and the C interface cuts a
    field name at a NUL byte.
    """
    return data_type.id in _NATIVE or (not _is_hidden(data_type) and _core.is_native(data_type))


def _is_hidden(data_type: pa.DataType) -> bool:
    """Return true if a type holds an extension type, or a field whose name has a NUL."""
    fields = (pa.field("", data_type), *all_fields(data_type))
    return any(isinstance(field.type, pa.BaseExtensionType) or "\0" in field.name or is_json(field) for field in fields)


def core_writes(field: pa.Field) -> bool:
    """Return true if the core writes the values of a column that holds JSON, when it is given the field."""
    return holds_json(field) and is_native(without_json(field.type))


def with_texts(table: pa.Table, columns: Iterable[str], first_row: int = 0) -> pa.Table:
    """Replace the columns that the core can't print by their texts (large strings); errors count rows from `first_row`.

    Timestamps, times and durations in nanoseconds are what pyarrow gives where pandas isn't installed.
    """
    for name in columns:
        index = table.schema.get_field_index(name)
        column, field = table.column(index), table.schema.field(index)
        if is_native(column.type) and not is_json(field):
            continue
        if core_writes(field):
            texts = pa.chunked_array(_core_texts(table.select([index]), name, first_row), pa.large_string())
        else:
            converted = _converted(column, field, first_row, _text_of)
            texts = pa.chunked_array([pa.array(chunk, pa.large_string()) for chunk in converted], pa.large_string())
        table = table.set_column(index, pa.field(name, pa.large_string()), texts)
    return table


def json_on_one_line(column: pa.Array, name: str, first_row: int = 0) -> pa.Array:
    """Write texts of JSON, each on one line, with the numbers and the order of the text itself; a null is `null`."""
    texts = json_texts(column)
    table = pa.Table.from_arrays([texts], schema=pa.schema([named_json_field(name, texts.type)]))
    return pa.concat_arrays(_core_texts(table, name, first_row, as_json=True) or [pa.array([], pa.large_string())])


def _core_texts(table: pa.Table, name: str, first_row: int, *, as_json: bool = False) -> list[pa.Array]:
    """Return the texts of a table's only column, which the core writes."""
    try:
        return _core.field_texts(table, as_json)
    except _core.RenderError as error:
        row = None if error.row is None else first_row + error.row
        raise render_error(error.code, error.message, row, name) from None


def values(column: pa.ChunkedArray, name: str, first_row: int = 0, field: pa.Field | None = None) -> list[Any]:
    """Return the values of a column as Python has them, whose `str` `with_texts` gives."""
    field = pa.field(name, column.type) if field is None else field.with_name(name)
    return [value for chunk in _converted(column, field, first_row, lambda value: value) for value in chunk]


def printable_bitmap() -> bytes:
    """Return `str.isprintable` of all code points as bits, the lowest bit of the first byte for the first one."""
    # All code points of a plane as UTF-32, written column by column: counting up in Python takes longer than the rest.
    codes = bytearray(4 * 0x10000)
    codes[0::4] = bytes(range(256)) * 256
    codes[1::4] = b"".join(bytes([high]) * 256 for high in range(256))
    planes = []
    for plane in range(17):
        codes[2::4] = bytes([plane]) * 0x10000
        planes.append(_printable(codes.decode("utf-32-le", "surrogatepass")))
    return b"".join(planes)


def _printable(plane: str) -> bytes:
    """Pack `str.isprintable` of each character of a plane.

    Asking all 1.1 million characters one by one takes several times longer.
    Unicode hands out characters in columns of 16, so a plane without a printable character at any multiple of 16 has
    none at all: most of them. Of the others, a block of ideographs is printable as a whole.
    """
    if not any(map(str.isprintable, plane[::16])):
        return bytes(len(plane) // 8)
    blocks = []
    for start in range(0, len(plane), 1024):
        block = plane[start : start + 1024]
        if block.isprintable():
            blocks.append(b"\xff" * 128)
        else:
            digits = bytes(map(str.isprintable, block)).translate(_BINARY_DIGITS)
            blocks.append(int(digits[::-1], 2).to_bytes(128, "little"))
    return b"".join(blocks)


def depth(data_type: pa.DataType, limit: int) -> int:
    """Count how deep a type is nested, at most to `limit`."""
    deepest, level = 0, [data_type]
    while level and deepest < limit:
        storages = (kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind for kind in level)
        level = [field.type for parent in storages for field in fields_within(parent)]
        deepest += bool(level)
    return deepest


def _text_of(value: Any) -> str:
    """Return the text of a value, which Arrow can hold."""
    text = str(value)
    text.encode()
    return text


def _converted(
    column: pa.ChunkedArray, field: pa.Field, done: int, convert: Callable[[Any], Any]
) -> Iterator[list[Any]]:
    """Yield what `convert` makes of the values of each chunk of `column`."""
    name = field.name
    to_python = _to_python if holds(column.type, _is_of_nanoseconds) else pa.Array.to_pylist
    if holds_json(field):
        to_python = partial(json_values, field=field, other_values=to_python)
    for chunk in map(narrowed, column.chunks):
        try:
            chunk.validate(full=True)
        except pa.ArrowException as error:
            raise render_error("malformed_array", f"the Arrow array is malformed: {error}", column=name) from error
        try:
            yield [convert(value) for value in to_python(chunk)]
        except Exception as error:  # an extension type's scalars may raise anything
            raise _render_error(chunk, name, done, to_python) from error
        done += len(chunk)


def _render_error(chunk: pa.Array, name: str, done: int, to_python: Callable[[pa.Array], list[Any]]) -> Exception:
    """Make the error for the first row of `chunk` that can't be converted; `done` rows stand before the chunk."""
    # The prefix of `start` rows converts, the one of `end` rows doesn't.
    start, end, reason = 0, len(chunk), "its value has no text"
    while end - start > 1:
        middle = (start + end) // 2
        if _failure(chunk.slice(start, middle - start), to_python) is None:
            start = middle
        else:
            end = middle
    failure = _failure(chunk.slice(start, 1), to_python)
    if failure is not None:
        reason = f"{type(failure).__name__}: {failure}"
    row = done + start
    message = f"{reason} (the value is {_start_of(chunk, start)})"
    return render_error("unconvertible_value", message, row, name)


def _failure(chunk: pa.Array, to_python: Callable[[pa.Array], list[Any]]) -> Exception | None:
    try:
        for value in to_python(chunk):
            _text_of(value)
    except Exception as error:  # as in `_converted`
        return error
    return None


def _start_of(chunk: pa.Array, row: int) -> str:
    """Quote the start of a value that has no Python form, as Arrow prints it."""
    try:
        # Arrow prints all runs of a column of runs and all values of a dictionary, whatever they are sliced to.
        value = chunk.slice(row, 1)
        if types.is_run_end_encoded(value.type):
            value = pc.run_end_decode(value)
        if types.is_dictionary(value.type):
            value = value.dictionary_decode()
        if any(name in str(value.type) for name in ("run_end_encoded", "dictionary<")):
            return str(value.type)
        text = " ".join(str(value.to_string(skip_new_lines=True))[1:-1].split())
    except Exception:  # nothing more can be said than its type
        text = str(chunk.type)
    return text if len(text) <= 40 else text[:40] + "…"


def _is_of_nanoseconds(data_type: pa.DataType) -> bool:
    """Return true if pandas, where it is installed, would change what `to_pylist` gives."""
    is_time = types.is_timestamp(data_type) or types.is_time(data_type) or types.is_duration(data_type)
    return bool(is_time and data_type.unit == "ns")


def _to_python(array: pa.Array) -> list[Any]:
    """`array.to_pylist()` as it is where pandas isn't installed."""
    if types.is_timestamp(array.type):
        try:
            return list(array.cast(pa.timestamp("us", array.type.tz)).to_pylist())
        except pa.ArrowInvalid:
            pass  # a value isn't whole microseconds: the walk below says which
    return [_scalar_to_python(scalar) for scalar in array]


def _scalar_to_python(scalar: pa.Scalar) -> Any:  # noqa: PLR0911 - one return for each kind of type
    """`scalar.as_py()` as it is where pandas isn't installed."""
    data_type = scalar.type
    if not scalar.is_valid:
        return None
    if isinstance(data_type, pa.BaseExtensionType):
        # A scalar class of its own decides for itself.
        return _scalar_to_python(scalar.value) if type(scalar) is pa.ExtensionScalar else scalar.as_py()
    if types.is_timestamp(data_type) or types.is_time(data_type) or types.is_duration(data_type):
        return _nanoseconds_to_python(scalar) if data_type.unit == "ns" else scalar.as_py()
    if types.is_dictionary(data_type) or types.is_union(data_type) or types.is_run_end_encoded(data_type):
        return None if scalar.value is None else _scalar_to_python(scalar.value)
    if types.is_map(data_type):
        # `flatten` would end the process where a union is among the values.
        entries = scalar.values
        pairs = zip(entries.field(0), entries.field(1), strict=True)
        return [(_scalar_to_python(key), _scalar_to_python(item)) for key, item in pairs]
    if types.is_struct(data_type):
        names = [field.name for field in data_type]
        if len(set(names)) != len(names):
            raise ValueError("a struct with a repeated field name is no dict")
        return {name: _scalar_to_python(scalar[index]) for index, name in enumerate(names)}
    if isinstance(scalar, pa.ListScalar):
        return [_scalar_to_python(item) for item in scalar.values]
    return scalar.as_py()


def _nanoseconds_to_python(scalar: pa.Scalar) -> Any:
    """Convert a timestamp, time or duration in nanoseconds to what `datetime` has."""
    if scalar.value % 1000:
        raise ValueError(f"{scalar.value} nanoseconds are no whole microseconds, which is all that datetime holds")
    data_type = scalar.type
    if types.is_timestamp(data_type):
        target = pa.timestamp("us", data_type.tz)
    else:
        target = pa.time64("us") if types.is_time(data_type) else pa.duration("us")
    return pa.array([scalar.value // 1000], pa.int64()).view(target)[0].as_py()


def children(array: pa.Array) -> list[pa.Array]:
    """List the arrays within `array`, whole: those of a struct, a dictionary, a list, a map, runs or a union."""
    data_type = array.type
    if isinstance(data_type, pa.BaseExtensionType):
        return [array.storage]
    if types.is_struct(data_type) or types.is_union(data_type):
        return [array.field(index) for index in range(data_type.num_fields)]
    if types.is_dictionary(data_type):
        return [array.dictionary]
    if types.is_map(data_type):
        return [array.keys, array.items]
    if data_type.num_fields:
        return [array.values]
    return []


_MANY = 4096
"""Values of other rows that are worth leaving out."""


def narrowed(array: pa.Array) -> pa.Array:
    """Return the same rows, of a list with no more items than they have; nothing is copied.

    Offsets that lead astray stay, so that a check finds them.
    """
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _narrowed_list(array)
    if types.is_struct(array.type) and not array.null_count and array.type.num_fields:
        fields = [narrowed(array.field(n)) for n in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=[array.type.field(n) for n in range(array.type.num_fields)])
    return array


def _narrowed_list(array: pa.Array) -> pa.Array:
    if len(array) * 16 + _MANY > len(array.values):
        return array
    ends = array.offsets.to_pylist()
    if ends[0] < 0 or ends[-1] > len(array.values) or any(a > b for a, b in pairwise(ends)):
        return array
    items = narrowed(array.values.slice(ends[0], ends[-1] - ends[0]))
    kind = pa.LargeListArray if types.is_large_list(array.type) else pa.ListArray
    offsets = pa.array([end - ends[0] for end in ends], array.offsets.type)
    return kind.from_arrays(offsets, items, type=array.type, mask=array.is_null() if array.null_count else None)
