"""Values as fingerprints hash them: the content of examples, and plain values as bytes."""

from __future__ import annotations

import hashlib
import math
import operator
import re
import struct
import sys
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.columns import LISTS, ends_of, is_text, table_bytes, text_of
from promptpress._arrow.take import spread_over_runs, take_rows
from promptpress._core import CompiledRenderer, repeated_rows


def written(value: Any) -> bytes:
    """Write a value down so that no two different ones are written alike.

    A letter for the type; before texts, lists and dicts their length, 8 bytes, the lowest first. `1`, `1.0`, `True` and
    `"1"` differ, tuples are lists, NaN is itself, and a dict is written in the order that it has. Anything else than
    plain values and bytes is its type's name and `str`.
    """
    out: list[bytes] = []
    _write(value, out)
    return b"".join(out)


def _write(value: Any, out: list[bytes]) -> None:
    if value is None:
        out.append(b"n")
    elif value is True or value is False:
        out.append(b"b\x01" if value else b"b\x00")
    elif isinstance(value, str):
        _bytes(b"s", value.encode("utf-8", "surrogatepass"), out)
    elif isinstance(value, int):
        # In base 16: Python refuses to print thousands of digits in base 10, and a version may print that differently.
        _bytes(b"i", f"{int(value):x}".encode(), out)
    elif isinstance(value, float):
        out.append(b"f" + struct.pack("<d", math.nan if math.isnan(value) else value))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _bytes(b"y", bytes(value), out)
    elif isinstance(value, (list, tuple)):
        out.append(b"l" + _count(len(value)))
        for item in value:
            _write(item, out)
    elif isinstance(value, dict):
        out.append(b"d" + _count(len(value)))
        for key, item in value.items():
            _write(key, out)
            _write(item, out)
    else:
        _bytes(b"o", f"{type(value).__name__} {value}".encode("utf-8", "surrogatepass"), out)


def _bytes(tag: bytes, data: bytes, out: list[bytes]) -> None:
    out += (tag, _count(len(data)), data)


def _count(number: int) -> bytes:
    return number.to_bytes(8, "little")


_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_BRACE = re.compile(rb"[{}]")
_FEW = 1 << 16
"""Values that Python goes through sooner than `pyarrow.compute` is imported."""


def content(examples: pa.Table | None, core: CompiledRenderer, *, single_pass: bool) -> Any:
    """Say what of the examples may get into a prompt, as plain values.

    All columns count, for a value may bring in the placeholder of any; of a fixed choice its rows alone, in their
    order. The order of columns counts only where columns are filled in one after another and braces stand in a value,
    or in a template next to its placeholders.
    """
    if examples is None:
        return None
    if not core.by_position and core.index_column is None:
        chosen = core.retrieve(1)
        rows = [] if chosen is None else chosen[0].as_py()
        if not rows:
            return None
        # Not by `take`, which pyarrow doesn't have for views and runs.
        examples = pa.concat_tables([examples.slice(row % examples.num_rows, 1) for row in rows])
    columns = [(name, _plain(column)) for name, column in zip(examples.column_names, examples.columns, strict=True)]
    in_order = single_pass or not (
        any(_BRACE.search(_PLACEHOLDER.sub("", text).encode()) for text in core.literals)
        or any(_may_hold_braces(column) for _, column in columns)
    )
    if in_order:
        columns.sort(key=lambda pair: pair[0])
    return {
        "rows": examples.num_rows,
        "are_sorted": in_order,
        "columns": [[name, _digest(column)] for name, column in columns],
    }


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without what only saves memory, in the widest type of its kind."""
    kind = column.type
    if types.is_dictionary(kind):
        # Chunks may have dictionaries of their own.
        chunks = [
            part for chunk in column.chunks for part in take_rows(chunk.dictionary, chunk.indices.cast(pa.int64()))
        ]
        return _plain(pa.chunked_array(chunks, kind.value_type))
    if types.is_run_end_encoded(kind):
        chunks = [
            part
            for chunk in column.chunks
            for part in take_rows(chunk.values, spread_over_runs(chunk, repeated_rows(0, len(chunk.values), 1)))
        ]
        return _plain(pa.chunked_array(chunks, kind.value_type))
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    wide = _wide(kind)
    if types.is_string(kind) and _are_few(column):
        return pa.chunked_array([_with_long_offsets(chunk) for chunk in column.chunks], wide)
    if wide is not None and wide != kind:
        with suppress(pa.ArrowException):  # a number above those of 64 bits with a sign
            return column.cast(wide)
    return column


def _are_few(values: pa.Array | pa.ChunkedArray) -> bool:
    """Return true if the values are few, and none of them is null."""
    return len(values) <= _FEW and not values.null_count


def _with_long_offsets(chunk: pa.StringArray) -> pa.LargeStringArray:
    """The same texts, of which none is null, as large strings."""
    _, ends, data = chunk.buffers()
    if not len(chunk) or ends is None:
        return pa.nulls(0, pa.large_string())
    longer = array("q", memoryview(ends).cast("i")[chunk.offset : chunk.offset + len(chunk) + 1])
    return pa.LargeStringArray.from_buffers(len(chunk), pa.py_buffer(longer), data)


def _wide(kind: pa.DataType) -> pa.DataType | None:
    if is_text(kind):
        return pa.large_string()
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if is_binary or types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_integer(kind):
        return pa.int64()
    if types.is_floating(kind):
        return pa.float64()
    return pa.date32() if types.is_date(kind) else None


def _may_hold_braces(column: pa.ChunkedArray) -> bool:
    """Return true if a value's text may have a brace."""
    kind = column.type
    if (types.is_large_string(kind) or types.is_large_binary(kind)) and _are_few(column):
        return any(_BRACE.search(text_of(chunk)) for chunk in column.chunks)
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return any(pc.any(pc.match_substring(column, brace)).as_py() for brace in "{}")
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return not (is_number or types.is_null(kind) or types.is_boolean(kind) or types.is_temporal(kind))


def _digest(column: pa.ChunkedArray) -> list[Any]:
    """A column's kind, and a hash of its values."""
    kind = column.type
    words = _as_words(kind)
    if words is not None:
        return [words[0], _hash_of_words(column, words[1])]
    if types.is_null(kind):
        return ["null", b""]
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return ["text" if types.is_large_string(kind) else "bytes", _hash_of_texts(column)]
    try:
        values = written(column.to_pylist())
    except Exception:  # values that Python can't have, whatever their type raises for it
        with suppress(pa.ArrowException):  # pyarrow joins no dictionaries with nulls, so their chunks are hashed, too
            column = column.combine_chunks()
        return [str(kind), hashlib.sha256(table_bytes(pa.table({"": column}))).digest()]
    return [_kind(kind), hashlib.sha256(values).digest()]


def _kind(kind: pa.DataType) -> str:
    """Return what decides Python's texts of nested values besides the values, such as the type of maps."""
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _kind(kind.value_type)
    if types.is_map(kind):
        return f"map<{_kind(kind.key_type)},{_kind(kind.item_type)}>"
    if types.is_struct(kind):
        return f"struct<{','.join(_kind(kind.field(n).type) for n in range(kind.num_fields))}>"
    if isinstance(kind, LISTS):
        return f"list<{_kind(kind.value_type)}>"
    if types.is_decimal(kind):
        return "decimal"
    wide = _wide(kind)
    return str(kind if wide is None else wide)


def _as_words(kind: pa.DataType) -> tuple[str, Callable[[pa.Array], pa.Array]] | None:
    """Return the name of a type whose values have 8 bytes each, and how to get them."""
    if types.is_int64(kind):
        return "int", lambda chunk: chunk
    if types.is_float64(kind):
        nan = _scalar(kind, struct.pack("=d", float("nan")))
        return "float", lambda chunk: pc.if_else(pc.is_nan(chunk), nan, chunk)
    if types.is_boolean(kind):
        return "bool", lambda chunk: chunk.cast(pa.uint8()).cast(pa.int64())
    if types.is_temporal(kind) and not types.is_interval(kind):
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        return str(kind), lambda chunk: chunk.cast(narrow).cast(pa.int64())
    return None


def _hash_of_texts(column: pa.ChunkedArray) -> bytes:
    lengths, data = hashlib.sha256(), hashlib.sha256()
    for chunk in column.chunks:
        if len(chunk) and _are_few(chunk):
            ends = ends_of(chunk)
            lengths.update(little_endian(array("q", map(operator.sub, ends[1:], ends)).tobytes(), sys.byteorder))
            data.update(text_of(chunk))
        elif len(chunk):
            of_each = pc.binary_length(chunk).cast(pa.int64())
            lengths.update(_words(pc.fill_null(of_each, _scalar(of_each.type, b"\xff" * 8))))
            # Whatever lies in memory where a value is null.
            filled = pc.fill_null(chunk, _scalar(chunk.type, bytes(16), b""))
            data.update(text_of(filled))
    return hashlib.sha256(lengths.digest() + data.digest()).digest()


def _hash_of_words(column: pa.ChunkedArray, as_words: Callable[[pa.Array], pa.Array]) -> bytes:
    valid, values = hashlib.sha256(), hashlib.sha256()
    for chunk in column.chunks:
        if len(chunk) and types.is_int64(chunk.type) and not chunk.null_count:
            valid.update(little_endian((array("q", [1]) * len(chunk)).tobytes(), sys.byteorder))
            values.update(_words(chunk))
        elif len(chunk):
            valid.update(_words(pc.is_valid(chunk).cast(pa.uint8()).cast(pa.int64())))
            words = as_words(chunk)
            values.update(_words(pc.fill_null(words, _scalar(words.type, bytes(8)))))
    return hashlib.sha256(valid.digest() + values.digest()).digest()


def _scalar(kind: pa.DataType, *data: bytes) -> pa.Scalar:
    """The value that such memory holds.

    To make one of a Python value pyarrow imports pandas where it is installed, which takes longer than a fingerprint.
    """
    return pa.Array.from_buffers(kind, 1, [None, *map(pa.py_buffer, data)])[0]


def _words(values: pa.Array) -> bytes:
    """Values of 8 bytes each without nulls, the lowest byte first."""
    data = memoryview(values.buffers()[1])[values.offset * 8 : (values.offset + len(values)) * 8]
    return little_endian(data.tobytes(), sys.byteorder)


def little_endian(data: bytes, byteorder: str) -> bytes:
    """Turn words of 8 bytes round where the machine has the highest byte first."""
    if byteorder == "little":
        return data
    words = array("q", data)
    words.byteswap()
    return words.tobytes()
