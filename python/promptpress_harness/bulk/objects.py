"""Makes the objects that a harness passes on from rendered columns, and compares them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import to_pylist
from pyarrow import types

from promptpress_harness.single.harness import loaded


def requests_of(prompts: pa.ChunkedArray, kind: Callable[[list[Any]], Any]) -> Callable[[int], Any]:
    """Return a function that builds a request of a rendered block from its index.

    It makes a list of messages, of the class `kind`, anew each time, because the harness may change the list.

    Example:
        >>> requests_of(pa.chunked_array([["a", "b"]]), list)(1)
        'b'
        >>> requests_of(pa.chunked_array([[[{"role": "HUMAN", "prompt": "Hi"}]]]), list)(0)
        [{'role': 'HUMAN', 'prompt': 'Hi'}]
    """
    if not types.is_nested(prompts.type):
        texts: list[Any] = prompts.to_pylist()
        return texts.__getitem__
    array = pa.concat_arrays(prompts.chunks)
    structs = array.values
    columns = [structs.field(n) for n in range(structs.type.num_fields)]
    if any(column.null_count or types.is_nested(column.type) for column in columns):

        def converted(index: int) -> Any:
            requests: list[Any] = to_pylist(array.slice(index, 1))
            return kind(requests[0])

        return converted
    names = [structs.type.field(n).name for n in range(len(columns))]
    offsets = array.offsets.to_pylist()
    length = offsets[1] - offsets[0]
    if len(names) == 2 and length and offsets == list(range(offsets[0], offsets[-1] + 1, length)):
        starts = array.offsets.slice(0, len(array)).cast(pa.int64())
        first, second = names
        first_values, second_values = (_by_request(column, starts, length) for column in columns)

        def request_of_two(index: int) -> Any:
            pairs = zip(first_values[index], second_values[index], strict=True)
            return kind([{first: a, second: b} for a, b in pairs])

        return request_of_two
    values = [column.to_pylist() for column in columns]

    def request(index: int) -> Any:
        rows = zip(*(column[offsets[index] : offsets[index + 1]] for column in values), strict=True)
        return kind([dict(zip(names, row, strict=True)) for row in rows])

    return request


def _by_request(column: pa.Array, starts: pa.Array, length: int) -> list[tuple[Any, ...]]:
    """Return the values of a column, `length` of them a request.

    A position that has the same value in all requests, as roles and fixed examples have, is converted once.
    """
    start, count = starts[0].as_py(), len(starts)
    column = column.slice(start, count * length)
    starts = pc.subtract(starts, start)
    as_before = pc.equal(column.slice(length), column.slice(0, (count - 1) * length))
    positions: list[Iterable[Any]] = []
    for n in range(length):
        if count == 1 or pc.all(as_before.take(pc.add(starts.slice(0, count - 1), n))).as_py():
            positions.append(itertools.repeat(column[n].as_py(), count))
        else:
            positions.append(column.take(pc.add(starts, n)).to_pylist())
    return list(zip(*positions, strict=True))


def kind_of(request: Any) -> Callable[[list[Any]], Any]:
    """Return a function that makes a list of messages a request of the same classes as the harness's `request`.

    A harness copies messages of its configuration, so they keep their class.

    Example:
        >>> class Message(dict): ...
        >>> type(kind_of([Message(role="user")])([{"role": "assistant"}])[0]).__name__
        'Message'
    """
    kind: Callable[[list[Any]], Any] = type(request)
    messages = {type(item) for item in request if isinstance(item, dict)} if isinstance(request, list) else set()
    if len(messages) != 1 or messages == {dict}:
        return kind
    (message,) = messages
    make = partial(_config_dict, message) if message is loaded("mmengine.config", "ConfigDict") else message
    return lambda items: kind([make(item) if isinstance(item, dict) else item for item in items])


def _config_dict(config_dict: Callable[..., Any], item: dict[str, Any]) -> Any:
    """Return mmengine's dict of a message.

    It searches each value for dicts to convert, four times as long as all else takes. In texts there are none.
    """
    if not all(type(value) is str for value in item.values()):
        return config_dict(item)
    message = config_dict()
    dict.update(message, item)
    return message


def same(left: Any, right: Any) -> bool:
    """Return true if two requests can't be told apart: types, values, and the order of keys.

    Example:
        >>> same([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])
        False
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
