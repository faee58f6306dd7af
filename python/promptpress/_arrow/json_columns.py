"""Columns of JSON, `arrow.json`: texts whose values are what `json.loads` makes of them.

pyarrow knows the type from version 19 on. Before, such a column is one of strings whose field names the extension.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

_NAME = "arrow.json"
_NAME_KEY = b"ARROW:extension:name"

_TYPE = pa.json_(pa.string()) if hasattr(pa, "json_") else None


def is_json(field: pa.Field) -> bool:
    """Return true for a column of JSON."""
    if isinstance(field.type, pa.BaseExtensionType):
        return bool(field.type.extension_name == _NAME)
    return (field.metadata or {}).get(_NAME_KEY) == _NAME.encode()


def holds_json(field: pa.Field) -> bool:
    """Return true for a column of JSON, or of values that hold some."""
    return is_json(field) or any(map(is_json, all_fields(field.type)))


def fields_within(data_type: pa.DataType) -> Iterator[pa.Field]:
    """Yield the fields of the values within a type; not those of an extension type's storage."""
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        yield pa.field("", data_type.value_type)
    elif types.is_map(data_type):
        yield data_type.key_field
        yield data_type.item_field
    elif not isinstance(data_type, pa.BaseExtensionType):
        for index in range(data_type.num_fields):
            yield data_type.field(index)


def all_fields(data_type: pa.DataType) -> Iterator[pa.Field]:
    """Yield the fields within a type, and those within them, at any depth."""
    for field in fields_within(data_type):
        yield field
        yield from all_fields(field.type)


def holds(data_type: pa.DataType, is_kind: Callable[[pa.DataType], bool]) -> bool:
    """Return true if a type is of a kind, or the storage of an extension type or any type within it is."""
    if isinstance(data_type, pa.BaseExtensionType):
        return holds(data_type.storage_type, is_kind)
    return is_kind(data_type) or any(holds(field.type, is_kind) for field in fields_within(data_type))


def with_fields(data_type: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """Return a type with others of the fields that `fields_within` yields; dictionaries and runs stay as they are."""
    if types.is_struct(data_type):
        return pa.struct(fields)
    if types.is_map(data_type):
        return pa.map_(*fields)
    if types.is_fixed_size_list(data_type):
        return pa.list_(*fields, data_type.list_size)
    make = _LISTS.get(type(data_type))
    return data_type if make is None else make(*fields)


_LISTS = {
    pa.ListType: pa.list_,
    pa.LargeListType: pa.large_list,
    pa.ListViewType: pa.list_view,
    pa.LargeListViewType: pa.large_list_view,
}


def without_json(data_type: pa.DataType) -> pa.DataType:
    """Return a type with texts in the place of JSON, as the core sees it; dictionaries and runs stay as they are."""
    if isinstance(data_type, pa.BaseExtensionType):
        return data_type.storage_type if data_type.extension_name == _NAME else data_type
    within = fields_within(data_type)
    return with_fields(data_type, [pa.field(field.name, without_json(field.type), field.nullable) for field in within])


def json_field(name: str) -> pa.Field:
    if _TYPE is not None:
        return pa.field(name, _TYPE)
    return named_json_field(name, pa.string())


def named_json_field(name: str, data_type: pa.DataType) -> pa.Field:
    """Return the field of a column of texts that says that they are JSON, for the core and for older pyarrow."""
    return pa.field(name, data_type, metadata={_NAME_KEY: _NAME, b"ARROW:extension:metadata": b""})


def json_array(texts: Sequence[str | None]) -> pa.Array | pa.ChunkedArray:
    """Make a column of JSON of its texts; a null is none."""
    array = pa.array(texts, pa.string())
    if _TYPE is None:
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([pa.ExtensionArray.from_storage(_TYPE, chunk) for chunk in array.chunks], _TYPE)
    return pa.ExtensionArray.from_storage(_TYPE, array)


def json_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the texts of a column of JSON as strings."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column.storage


def json_values(array: pa.Array, field: pa.Field, other_values: Any) -> list[Any]:  # noqa: PLR0911 - a return for each kind of type
    """Return the values of an array that holds JSON somewhere."""
    if is_json(field):
        texts = (json_texts(array) if isinstance(array, pa.ExtensionArray) else array).to_pylist()
        return [None if text is None else json.loads(text) for text in texts]
    kind = field.type
    if not len(array):
        return []
    if not holds_json(field):
        return list(other_values(array))
    if types.is_struct(kind):
        names = [child.name for child in kind]
        columns = [json_values(part, child, other_values) for part, child in zip(array.flatten(), kind, strict=True)]
        dicts = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return [row if is_valid else None for row, is_valid in zip(dicts, array.is_valid().to_pylist(), strict=True)]
    if types.is_dictionary(kind):
        (field,) = fields_within(kind)
        values = json_values(array.dictionary, field, other_values)
        return [None if index is None else values[index] for index in array.indices.to_pylist()]
    if types.is_map(kind):
        starts = array.offsets.to_pylist()
        keys, items = (
            json_values(part, child, other_values)
            for part, child in ((array.keys, kind.key_field), (array.items, kind.item_field))
        )
        pairs = list(zip(keys, items, strict=True))
        spans = zip(array.is_valid().to_pylist(), starts[:-1], starts[1:], strict=True)
        return [pairs[start:end] if is_valid else None for is_valid, start, end in spans]
    if types.is_list(kind) or types.is_large_list(kind):
        starts = array.offsets.to_pylist()
        first = starts[0]
        within = json_values(array.values.slice(first, starts[-1] - first), kind.value_field, other_values)
        spans = zip(array.is_valid().to_pylist(), starts[:-1], starts[1:], strict=True)
        return [within[start - first : end - first] if is_valid else None for is_valid, start, end in spans]
    lists = [scalar.values if scalar.is_valid else None for scalar in array]
    return [None if items is None else json_values(items, kind.value_field, other_values) for items in lists]
