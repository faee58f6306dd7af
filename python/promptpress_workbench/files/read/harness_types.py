"""Files of JSON with the types of the harnesses' reader: `datasets`, which reads them by pyarrow.

A column whose values are of several kinds gets one type of Arrow: whole numbers next to fractions are fractions, and an
object has the keys of all rows. What that reader refuses, or would change, stays JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.json as pj
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.files.read.json_rows import JsonRows

_VALUE = "v"
_MAX_DEPTH = 128
"""The largest depth of a row's values, as in every table of samples; Arrow's reader would overflow its stack."""
_MAX_EXACT_FLOAT = 2**53
_BRACKETS_ONLY = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError, RecursionError)


class TypedRows:
    """A file of JSON whose columns have the types that the harnesses' reader gives them."""

    def __init__(self, rows: JsonRows, types: dict[str, pa.DataType]) -> None:
        self._rows = rows
        self._types = types
        self.num_rows = rows.num_rows
        fields = [pa.field(f.name, types[f.name]) if f.name in types else f for f in rows.schema]
        self.schema: pa.Schema = pa.schema(fields)

    def batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._rows.batches():
            columns = [
                typed_column(column, self._types[name]) if name in self._types else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def has_times(self) -> bool:
        """True if some texts look like times, which the harnesses' reader takes them for."""
        names = [field.name for field in self.schema if not pa.types.is_null(field.type)]
        for batch in self._rows.values(names):
            for column in batch.columns:
                try:
                    kind = _read(_lines(column), None).type
                except _REFUSALS:
                    continue
                if _without_times(kind) != kind:
                    return True
        return False


def typed(files: Sequence[JsonRows]) -> list[TypedRows]:
    """Return files, which have the same columns, with the types of the harnesses' reader."""

    def read(names: Collection[str]) -> Iterator[pa.RecordBatch]:
        return (batch for file in files for batch in file.values(names))

    names = {name for file in files for name in file.json_columns}
    types = arrow_types(names, read)
    return [TypedRows(file, types) for file in files]


def arrow_types(
    names: Collection[str], read: Callable[[Collection[str]], Iterable[pa.RecordBatch]]
) -> dict[str, pa.DataType]:
    """Return the types that the harnesses' reader gives columns of JSON; those that it refuses have none."""
    types: dict[str, pa.DataType] = dict.fromkeys(names, pa.null())
    for name, column in _columns(types, read):
        try:
            types[name] = _common(types[name], _type_of(column))
        except _REFUSALS:
            del types[name]
    # A number may be rounded only where another batch has made all of them fractions.
    floats = {name: data_type for name, data_type in types.items() if _has_floats(data_type)}
    for name, column in _columns(floats, read):
        if _is_changed(column, types[name]):
            del floats[name], types[name]
    return types


def _columns(
    types: dict[str, pa.DataType], read: Callable[[Collection[str]], Iterable[pa.RecordBatch]]
) -> Iterator[tuple[str, Any]]:
    """Yield the name and the values of each column of each batch, as long as it has a type."""
    for batch in read(list(types)) if types else ():
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in types:
                yield name, column


def _common(before: pa.DataType, after: pa.DataType) -> pa.DataType:
    """Return the type of the values of both types; raise TypeError if they are of different kinds."""
    if not pa.types.is_null(before) and not pa.types.is_null(after) and _kind(before) != _kind(after):
        raise TypeError
    schemas = [pa.schema([(_VALUE, data_type)]) for data_type in (before, after)]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def _kind(data_type: pa.DataType) -> str:
    if pa.types.is_integer(data_type) or pa.types.is_floating(data_type):
        return "number"
    return "struct" if pa.types.is_struct(data_type) else "list" if pa.types.is_list(data_type) else str(data_type)


def _lines(column: Any) -> bytes:
    """Return a line for each value, which holds it."""
    texts = column.storage if isinstance(column, pa.ExtensionArray) else column
    return b"".join([b'{"v": %b}\n' % (b"null" if text is None else text.encode()) for text in texts.to_pylist()])


def _type_of(column: Any) -> pa.DataType:
    lines = _lines(column)
    array = _read(lines, None)
    data_type = _without_times(array.type)
    if data_type != array.type:
        array = _read(lines, data_type)
    return array.type


def typed_column(column: Any, data_type: pa.DataType) -> Any:
    """Return a column of JSON with a type that `arrow_types` gives it."""
    return _read(_lines(column), data_type)


def _read(lines: bytes, data_type: pa.DataType | None) -> Any:
    """Read values by Arrow, or by Python where Arrow's reader fails with values that it takes otherwise."""
    _refuse_depth(lines)
    schema = None if data_type is None else pa.schema([(_VALUE, data_type)])
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error" if schema else "infer")
    try:
        table = pj.read_json(pa.BufferReader(lines), pj.ReadOptions(block_size=len(lines)), options)
        column = table.column(0)
        column.validate()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # It loses nulls before it knows a type, and can't join empty lists to lists of objects.
        values = [json.loads(line, object_pairs_hook=_dict)[_VALUE] for line in lines.splitlines()]
        if data_type is not None and _common(data_type, pa.infer_type(values)) != data_type:
            raise
        return pa.array(values, data_type)
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def _dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key stands twice")
    return out


def _refuse_depth(lines: bytes) -> None:
    if lines.count(b"[") + lines.count(b"{") <= _MAX_DEPTH:
        return
    for line in lines.split(b"\n"):
        if line.count(b"[") + line.count(b"{") <= _MAX_DEPTH:
            continue
        brackets = _STRING.sub(b"", line).translate(None, _BRACKETS_ONLY)
        depth = max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)
        if depth > _MAX_DEPTH + 1:
            raise ValueError("nested too deeply")


def _without_times(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_temporal(data_type):
        return pa.string()
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_without_times(data_type.value_type)))
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(_without_times(field.type)) for field in data_type])
    return data_type


def _has_floats(data_type: pa.DataType) -> bool:
    if pa.types.is_list(data_type):
        return _has_floats(data_type.value_type)
    if pa.types.is_struct(data_type):
        return any(_has_floats(field.type) for field in data_type)
    return bool(pa.types.is_floating(data_type))


def _is_changed(column: Any, data_type: pa.DataType) -> bool:
    """Return true if a whole number is another as a fraction."""
    rounded = set(_may_be_rounded(typed_column(column, data_type), ""))
    return bool(rounded) and any(
        _is_rounded(json.loads(line)[_VALUE], "", rounded) for line in _lines(column).splitlines()
    )


def _may_be_rounded(column: Any, path: str) -> Iterator[str]:
    """Yield the paths of numbers that may have lost digits."""
    kind = column.type
    if pa.types.is_floating(kind):
        largest = pc.max(pc.abs(column)).as_py()
        if largest is not None and largest >= _MAX_EXACT_FLOAT:
            yield path
    elif pa.types.is_list(kind):
        yield from _may_be_rounded(pc.list_flatten(column), f"{path}[]")
    elif pa.types.is_struct(kind):
        for index, field in enumerate(kind):
            yield from _may_be_rounded(pc.struct_field(column, index), f"{path}.{field.name}")


def _is_rounded(value: object, path: str, rounded: set[str]) -> bool:
    if isinstance(value, dict):
        return any(_is_rounded(item, f"{path}.{name}", rounded) for name, item in value.items())
    if isinstance(value, list):
        return any(_is_rounded(item, f"{path}[]", rounded) for item in value)
    return isinstance(value, int) and path in rounded and int(float(value)) != value
