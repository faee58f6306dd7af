"""Relations of DuckDB, whose JSON comes as texts to Arrow unless DuckDB is told to keep its types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress._arrow.json_columns import holds_json, json_field


def is_relation(samples: Any) -> bool:
    """Return true for a relation of DuckDB."""
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
    """Return a field with the JSON that DuckDB's type has."""
    if str(kind) == "JSON":
        return json_field(field.name)
    data_type = field.type
    if types.is_list(data_type) or types.is_large_list(data_type):
        make = pa.list_ if types.is_list(data_type) else pa.large_list
        return field.with_type(make(_with_json(data_type.value_field, _children(kind)[0])))
    if types.is_fixed_size_list(data_type):
        return field.with_type(pa.list_(_with_json(data_type.value_field, _children(kind)[0]), data_type.list_size))
    if types.is_struct(data_type):
        return field.with_type(pa.struct(list(map(_with_json, data_type, _children(kind)))))
    if types.is_map(data_type):
        return field.with_type(pa.map_(*map(_with_json, (data_type.key_field, data_type.item_field), _children(kind))))
    return field


def _children(kind: Any) -> list[Any]:
    """Return the types within a type of DuckDB."""
    return [child for _, child in kind.children if not isinstance(child, int)]  # an array has its size
