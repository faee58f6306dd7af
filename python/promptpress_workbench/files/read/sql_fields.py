"""Fields of structs in a condition of SQL, which doesn't tell names apart that differ in case alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

Path = tuple[str, ...]
"""The names of a field: that of the column, that of a field in it, and so on."""

_EXTRACTS = ("ARRAY_EXTRACT", "STRUCT_EXTRACT")


class AmbiguousFieldsError(Exception):
    """A condition for which two fields are the same, though their names differ in case."""


def path_of(node: Any) -> Path | None:
    """Return the path of a node of DuckDB's syntax tree that names a column or a field, as `m.x` and `m['x']` do."""
    if node.get("class") == "COLUMN_REF":
        return tuple(node["column_names"])
    if node.get("type") in _EXTRACTS:
        of, name = node["children"]
        # Before version 2 of DuckDB a constant has a value, since then a text with its kind.
        value = (name.get("value") or {}).get("value", (name.get("literal") or {}).get("text"))
        is_text = name.get("class") == "CONSTANT" and isinstance(value, str)
        is_text &= "literal" not in name or name["literal"]["kind"] == "STRING"
        path = path_of(of) if is_text and isinstance(of, dict) else None
        return None if path is None else (*path, str(value))
    return None


def without_ambiguous_fields(data_type: pa.DataType, paths: Sequence[Path]) -> pa.DataType:
    """Return a type without the fields that SQL would take for others, as far as none of the paths leads to them."""
    equal = _equal_names(data_type)
    if equal is None:
        return data_type
    if not types.is_struct(data_type) or () in paths:
        first, second = equal
        message = f"SQL doesn't tell the fields {first!r} and {second!r} apart; name one, as in COLUMN.{first}"
        raise AmbiguousFieldsError(message)
    names = [field.name for field in data_type]
    read: dict[str, list[Path]] = {name: [] for name in names}
    for head, *rest in paths:
        for name in [head] if head in read else [name for name in names if name.lower() == head.lower()]:
            read[name].append(tuple(rest))
    kept: dict[str, pa.Field] = {}
    for field in sorted(data_type, key=lambda field: not read[field.name]):  # fields that are read come first
        other = kept.setdefault(
            field.name.lower(), field.with_type(without_ambiguous_fields(field.type, read[field.name]))
        )
        if other.name != field.name and read[field.name]:
            raise AmbiguousFieldsError(f"SQL doesn't tell the fields {other.name!r} and {field.name!r} apart")
    is_kept = {field.name for field in kept.values()}
    return pa.struct([kept[name.lower()] for name in names if name in is_kept])


def with_type(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return a column with its type by `without_ambiguous_fields`, or with another type for the same texts."""
    if array.type == data_type:
        return array
    if not types.is_struct(data_type):
        return array.cast(data_type)
    fields = [data_type.field(number) for number in range(data_type.num_fields)]
    columns = [with_type(array.field(array.type.get_field_index(field.name)), field.type) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=array.is_null())


def _equal_names(data_type: pa.DataType) -> tuple[str, str] | None:
    """Return the names of two fields of a struct, anywhere in a type, that differ in case alone; None if none do."""
    seen: dict[str, str] = {}
    fields = [data_type.field(number) for number in range(data_type.num_fields)]
    if types.is_struct(data_type):
        for field in fields:
            other = seen.setdefault(field.name.lower(), field.name)
            if other != field.name:
                return other, field.name
    return next(filter(None, (_equal_names(field.type) for field in fields)), None)
