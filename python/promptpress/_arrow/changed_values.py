"""Values of Python that Arrow would change: values of two kinds in one column, and values without end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from pyarrow import types

_MAX_DEPTH = 128
_CONTAINERS = (list, tuple, dict)


def nested_too_deeply(values: Iterable[Any]) -> bool:
    """Return true if a value of a column is nested without end, or deeper than any table of samples may be."""
    level = [value for value in values if isinstance(value, _CONTAINERS)]
    for _ in range(_MAX_DEPTH + 1):
        if not level:
            return False
        # A container that many others hold is looked into once.
        within = (item for value in level for item in (value.values() if isinstance(value, dict) else value))
        level = list({id(item): item for item in within if isinstance(item, _CONTAINERS)}.values())
    return True


def changed(values: Iterable[Any], kind: pa.DataType) -> tuple[int, Any, str, int, str] | None:
    """Find a value of a column that Arrow made one of another kind: a text of bytes, a datetime of a date."""
    if not _may_change(kind):
        return None
    first: dict[str, tuple[int, str]] = {}
    for row, value in enumerate(values):
        for path, leaf in _leaves(value, ""):
            leaf_kind = _kind(leaf)
            if leaf_kind is not None and (first_of_path := first.setdefault(path, (row, leaf_kind)))[1] != leaf_kind:
                return row, leaf, leaf_kind, *first_of_path
    return None


def _may_change(kind: pa.DataType) -> bool:
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_date(kind) or types.is_timestamp(kind):
        return True
    return any(_may_change(kind.field(n).type) for n in range(kind.num_fields))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    else:
        yield path, value


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, datetime):
        return "a datetime" if value.tzinfo is None else "a datetime with a zone"
    return "a date" if isinstance(value, date) else None
