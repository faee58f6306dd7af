"""The text of a value: `str()` of pyarrow's `to_pylist()`, as it is without pandas."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

UNPRINTABLE = "\x02no text\x03"
"""Stands for a value that can't be converted: wherever it comes into a prompt the prompt has to be refused."""


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as the harness has them."""
    columns = [values_of(column) for column in table.columns]
    names = table.column_names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else []


def values_of(column: pa.ChunkedArray) -> list[Any]:
    if not holds(column.type, lambda kind: getattr(kind, "unit", "") == "ns"):
        try:
            values = column.to_pylist()
        except Exception:  # whatever pyarrow or an extension type raises: the walk says for which rows
            values = None
        if values is not None and not may_fail_as_text(column.type):
            return values
    return [value_of(scalar) for chunk in column.chunks for scalar in chunk]


def may_fail_as_text(kind: pa.DataType) -> bool:
    """Return true if `str()` may raise, because it looks up the offset of a time zone."""
    return holds(kind, lambda inner: types.is_timestamp(inner) and inner.tz is not None)


def value_of(scalar: pa.Scalar) -> Any:
    try:
        value = plain(scalar)
        str(value)
    except Exception:  # as above
        return UNPRINTABLE
    return value


def plain(scalar: pa.Scalar) -> Any:  # noqa: PLR0911 - one kind of type, one return
    """`scalar.as_py()` without pandas."""
    kind = scalar.type
    if not scalar.is_valid and not types.is_union(kind):
        return None
    if isinstance(kind, pa.BaseExtensionType):
        return plain(scalar.value) if type(scalar) is pa.ExtensionScalar else scalar.as_py()
    if getattr(kind, "unit", "") == "ns":
        if scalar.value % 1000:
            raise ValueError("no whole microseconds")
        coarse = {
            types.is_timestamp: lambda: pa.timestamp("us", kind.tz),
            types.is_duration: lambda: pa.duration("us"),
            types.is_time: lambda: pa.time64("us"),
        }
        target = next(make() for test, make in coarse.items() if test(kind))
        return pa.array([scalar.value // 1000], pa.int64()).view(target)[0].as_py()
    if types.is_dictionary(kind) or types.is_union(kind) or types.is_run_end_encoded(kind):
        return None if scalar.value is None else plain(scalar.value)
    if types.is_map(kind):
        return [(plain(entry["key"]), plain(entry["value"])) for entry in map(entry_of(kind), scalar.values)]
    if types.is_struct(kind):
        names = [field.name for field in kind]
        if len(set(names)) != len(names):
            raise ValueError("no dict has a key twice")
        return {name: plain(scalar[n]) for n, name in enumerate(names)}
    if isinstance(scalar, pa.ListScalar):
        return [plain(item) for item in scalar.values]
    return scalar.as_py()


def entry_of(_kind: pa.DataType) -> Any:
    return lambda entry: {"key": entry[0], "value": entry[1]}


def holds(kind: pa.DataType, test: Any) -> bool:
    """Return true if `test` holds for a type or for a type within it."""
    if test(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return holds(kind.storage_type, test)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return holds(kind.value_type, test)
    return any(holds(kind.field(n).type, test) for n in range(kind.num_fields))
