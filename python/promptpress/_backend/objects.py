"""Rendered columns as the objects that a harness passes on."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress._to_pylist import to_pylist


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
        texts: list[Any] = prompts.to_pylist()
        return texts.__getitem__
    array = pa.concat_arrays(prompts.chunks)
    structs = array.values
    columns = [structs.field(n) for n in range(structs.type.num_fields)]
    if any(column.null_count or types.is_nested(column.type) for column in columns):

        def converted(at: int) -> Any:
            one: list[Any] = to_pylist(array.slice(at, 1))
            return kind(one[0])

        return converted
    names = [structs.type.field(n).name for n in range(len(columns))]
    offsets = array.offsets.to_pylist()
    length = offsets[1] - offsets[0]
    if len(names) == 2 and length and offsets == list(range(offsets[0], offsets[-1] + 1, length)):
        firsts = array.offsets.slice(0, len(array)).cast(pa.int64())
        return _even(names, [_places(column, firsts, length) for column in columns], kind)
    values = [column.to_pylist() for column in columns]

    def request(at: int) -> Any:
        rows = zip(*(column[offsets[at] : offsets[at + 1]] for column in values), strict=True)
        return kind([dict(zip(names, row, strict=True)) for row in rows])

    return request


def _even(names: list[str], columns: list[Iterator[Any]], kind: Callable[[list[Any]], Any]) -> Callable[[int], Any]:
    """Requests of as many messages each."""
    one, two = names
    firsts, seconds = map(list, columns)

    def request(at: int) -> Any:
        return kind([{one: a, two: b} for a, b in zip(firsts[at], seconds[at], strict=True)])

    return request


def _places(column: pa.Array, firsts: pa.Array, length: int) -> Iterator[tuple[Any, ...]]:
    """The values of a column, `length` of them a request.

    A place that holds the same in all requests, as roles and fixed examples do, is converted once.
    """
    start, count = firsts[0].as_py(), len(firsts)
    column = column.slice(start, count * length)
    firsts = pc.subtract(firsts, start)
    as_before = pc.equal(column.slice(length), column.slice(0, (count - 1) * length))
    places: list[Iterable[Any]] = []
    for place in range(length):
        if count == 1 or pc.all(as_before.take(pc.add(firsts.slice(0, count - 1), place))).as_py():
            places.append(itertools.repeat(column[place].as_py(), count))
        else:
            places.append(column.take(pc.add(firsts, place)).to_pylist())
    return zip(*places, strict=True)


def kind_of(request: Any) -> Callable[[list[Any]], Any]:
    """What makes a list of messages into the same kind of request.

    A harness copies messages of its configuration, and their class with them.

    Args:
        request: A request as the harness makes it.

    Example:
        >>> class Message(dict): ...
        >>> type(kind_of([Message(role="user")])([{"role": "assistant"}])[0]).__name__
        'Message'
    """
    kind: Callable[[list[Any]], Any] = type(request)
    messages = {type(one) for one in request if isinstance(one, dict)} if isinstance(request, list) else set()
    if len(messages) != 1 or messages == {dict}:
        return kind
    made = _maker_of(*messages)
    return lambda items: kind([made(item) if isinstance(item, dict) else item for item in items])


def _maker_of(message: type) -> Callable[[dict[str, Any]], Any]:
    """What makes a dict into a message of a class.

    The class of mmengine's configurations looks into each value for dicts to convert, four times as long as all else
    takes. There are none in texts.
    """
    if message is not getattr(sys.modules.get("mmengine.config"), "ConfigDict", None):
        return message

    def made(item: dict[str, Any]) -> Any:
        if not all(type(value) is str for value in item.values()):
            return message(item)
        empty = message()
        dict.update(empty, item)
        return empty

    return made


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
