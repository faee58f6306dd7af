"""Values of Python that Arrow would take, but not as they are: another kind of value beside them, or no end to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from pyarrow import types

__all__ = ["changed", "nested_too_deeply"]

_MAX_DEPTH = 128
_CONTAINERS = (list, tuple, dict)


def nested_too_deeply(values: Iterable[Any]) -> bool:
    """Say whether a value is nested without end, or deeper than any table of samples may be.

    Args:
        values: The values of a column.

    Returns:
        Whether one is.

    >>> loop = []
    >>> loop.append(loop)
    >>> nested_too_deeply([1, [2]]), nested_too_deeply([1, loop])
    (False, True)

    """
    level = [value for value in values if isinstance(value, _CONTAINERS)]
    for _ in range(_MAX_DEPTH + 1):
        if not level:
            return False
        # What stands in many places is looked into once.
        within = (item for value in level for item in (value.values() if isinstance(value, dict) else value))
        level = list({id(item): item for item in within if isinstance(item, _CONTAINERS)}.values())
    return True


def changed(values: Iterable[Any], kind: pa.DataType) -> tuple[int, Any, str, int, str] | None:
    """Find a value that Arrow made one of another kind: a text of bytes, a datetime of a date, a zone of none.

    Args:
        values: The values of a column.
        kind: The type that Arrow took for them.

    Returns:
        The row, the value and what it is; the first row that has another kind, and what that is.

    >>> changed(["x", b"y"], pa.binary())
    (1, b'y', 'bytes', 0, 'a string')

    """
    if not _may_change(kind):
        return None
    first: dict[str, tuple[int, str]] = {}
    for row, value in enumerate(values):
        for place, leaf in _leaves(value, ""):
            found = _kind(leaf)
            if found is not None and (known := first.setdefault(place, (row, found)))[1] != found:
                return row, leaf, found, *known
    return None


def _may_change(kind: pa.DataType) -> bool:
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_date(kind) or types.is_timestamp(kind):
        return True
    return any(_may_change(kind.field(at).type) for at in range(kind.num_fields))


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{place}.{name}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, f"{place}[]")
    else:
        yield place, value


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, datetime):
        return "a datetime" if value.tzinfo is None else "a datetime with a zone"
    return "a date" if isinstance(value, date) else None
