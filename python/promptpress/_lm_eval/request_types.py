"""Arrow types of a request's arguments and metadata, which are tuples in Python."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from promptpress._lm_eval.python_values import from_json

__all__ = ["ArgumentsType", "MetadataType"]


class _Tuple(pa.ExtensionScalar):  # type: ignore[misc]
    def as_py(self, **options: Any) -> tuple[Any, ...] | None:
        storage = self.value
        if storage is None:
            return None
        read = self.type.json_fields
        items = storage.as_py(**options).items()
        return tuple([from_json(item) if name in read else item for name, item in items])


class _TupleType(pa.ExtensionType):  # type: ignore[misc]
    """A struct whose values are tuples in Python, fields in order.

    Args:
        storage: The struct.
        json_fields: Names of fields that are JSON texts of what has no Arrow type for all tasks.

    """

    _name = ""

    def __init__(self, storage: pa.StructType, json_fields: tuple[str, ...] = ()) -> None:
        self.json_fields = frozenset(json_fields)
        super().__init__(storage, self._name)

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
    """A request's arguments: what a model's `loglikelihood` or `generate_until` takes."""

    _name = "promptpress.lm_eval.arguments"


class MetadataType(_TupleType):
    """A request's metadata: task, document, repeats."""

    _name = "promptpress.lm_eval.metadata"


def register() -> None:
    """Have files and streams with such columns read as these types."""
    for kind in (ArgumentsType, MetadataType):
        try:
            pa.register_extension_type(kind(pa.struct([])))
        except pa.ArrowKeyError:
            pa.unregister_extension_type(kind._name)
            pa.register_extension_type(kind(pa.struct([])))


register()
