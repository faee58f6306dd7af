"""Rendered columns as the objects that a harness passes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress.requests import to_pylist

_TEXTS = ("prompt", "content")


def requests_of(prompts: pa.ChunkedArray, kind: Callable[[list[Any]], Any]) -> Callable[[int], Any]:
    """The requests of a rendered block, each to be built when it is asked for.

    Args:
        prompts: The prompt column.
        kind: The class of a list of messages, the harness's own.

    Returns:
        What gives a request by its number. A list of messages is made anew each time, since who gets it may change it.

    Example:
        >>> requests_of(pa.chunked_array([["a", "b"]]), list)(1)
        'b'
        >>> requests_of(pa.chunked_array([[[{"role": "HUMAN", "prompt": "Hi"}]]]), list)(0)
        [{'role': 'HUMAN', 'prompt': 'Hi'}]
    """
    if not types.is_nested(prompts.type):
        return prompts.to_pylist().__getitem__
    array = pa.concat_arrays(prompts.chunks)
    structs = array.values
    columns = [structs.field(n) for n in range(structs.type.num_fields)]
    if any(column.null_count or types.is_nested(column.type) for column in columns):
        return lambda at: kind(to_pylist(array.slice(at, 1))[0])
    names = [structs.type.field(n).name for n in range(len(columns))]
    offsets = array.offsets.to_pylist()
    values = [_values(name, column) for name, column in zip(names, columns, strict=True)]
    if len(names) != 2:
        rows = list(zip(*values, strict=True))
        return lambda at: kind([dict(zip(names, row, strict=True)) for row in rows[offsets[at] : offsets[at + 1]]])
    (one, two), (firsts, seconds) = names, values

    def pair(at: int) -> Any:
        start, end = offsets[at], offsets[at + 1]
        return kind([{one: a, two: b} for a, b in zip(firsts[start:end], seconds[start:end], strict=True)])

    return pair


def _values(name: str, column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if name in _TEXTS:
        return values
    # Roles: there are a few, and the harness has one object of each.
    same: dict[Any, Any] = {}
    return [same.setdefault(value, value) for value in values]


def same(one: Any, other: Any) -> bool:
    """Whether two requests can't be told apart: types, values, and the order of keys.

    Example:
        >>> same([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])
        False
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
