"""Requests as an Arrow table, and the Arrow types of columns whose values are tuples in Python."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import render_error
from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.arguments import Arguments
from promptpress_harness.lm_eval.python_values import from_json
from promptpress_harness.lm_eval.task_config import TaskConfig


class _Tuple(pa.ExtensionScalar):  # type: ignore[misc]
    def as_py(self, **options: Any) -> tuple[Any, ...] | None:
        storage = self.value
        if storage is None:
            return None
        json_fields = self.type.json_fields
        items = storage.as_py(**options).items()
        return tuple([from_json(item) if name in json_fields else item for name, item in items])


class _TupleType(pa.ExtensionType):  # type: ignore[misc]
    """A struct whose values are tuples in Python, with the fields in order.

    Args:
        storage: The struct.
        json_fields: Names of fields that hold JSON texts, because their values have no Arrow type for all tasks.
    """

    type_name = ""

    def __init__(self, storage: pa.StructType, json_fields: tuple[str, ...] = ()) -> None:
        self.json_fields = frozenset(json_fields)
        super().__init__(storage, self.type_name)

    def __arrow_ext_serialize__(self) -> bytes:
        return json.dumps({"json_fields": sorted(self.json_fields)}).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.StructType, serialized: bytes) -> _TupleType:
        return cls(storage, tuple(json.loads(serialized)["json_fields"]))

    def __arrow_ext_scalar_class__(self) -> type[_Tuple]:
        return _Tuple

    def __reduce__(self) -> Any:
        return type(self), (self.storage_type, tuple(sorted(self.json_fields)))


class ArgumentsType(_TupleType):
    """A request's arguments, which a model's `loglikelihood` or `generate_until` gets."""

    type_name = "promptpress.lm_eval.arguments"


class MetadataType(_TupleType):
    """A request's metadata: task, document, repeats."""

    type_name = "promptpress.lm_eval.metadata"


def request_table(config: TaskConfig, numbers: pa.Array, arguments: Arguments, stop: int) -> pa.Table:
    """Return the requests of the first documents as a table.

    Args:
        config: The task's configuration.
        numbers: The documents' numbers (int64).
        arguments: The arguments of the requests of all documents.
        stop: Number of documents whose requests are returned; the others only take part in the random draws.
    """
    rows = arguments.rows
    count = len(rows) if stop >= len(numbers) else pc.sum(pc.less(rows, stop)).as_py() or 0
    if not count:
        raise render_error("unconvertible_value", "ValueError: no document gives a request")
    documents = numbers.take(rows.slice(0, count))
    fields = [field.slice(0, count) for field in arguments.fields.values()]
    request_type = "loglikelihood" if config.output_type == "multiple_choice" else config.output_type
    storage = pa.StructArray.from_arrays(fields, list(arguments.fields))
    repeats = pa.repeat(pa.scalar(config.repeats, pa.int64()), count)
    metadata = pa.StructArray.from_arrays(
        [_repeated_text(config.task, count), documents, repeats], ["task", "doc_id", "repeats"]
    )
    return pa.table(
        {
            "request_type": _repeated_text(request_type, count),
            "arguments": ArgumentsType(storage.type, arguments.json_fields).wrap_array(storage),
            "idx": arguments.numbers.slice(0, count),
            "doc_id": documents,
            "metadata": MetadataType(metadata.type).wrap_array(metadata),
        }
    )


def _repeated_text(text: str | None, count: int) -> pa.Array:
    indices = pa.repeat(pa.scalar(0, pa.int32()), count)
    return pa.DictionaryArray.from_arrays(indices, pa.array([text], pa.string()))


# Files and streams with such columns are then read as these types.
for _type in (ArgumentsType, MetadataType):
    try:
        pa.register_extension_type(_type(pa.struct([])))
    except pa.ArrowKeyError:
        pa.unregister_extension_type(_type.type_name)
        pa.register_extension_type(_type(pa.struct([])))
