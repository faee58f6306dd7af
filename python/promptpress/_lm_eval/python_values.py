"""Values of Python as JSON texts, and back: what an argument holds that is no text."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> str:
    """Write a value; what JSON has no form for is an object whose only key begins with `$`.

    Args:
        value: None, a bool, a number, a text, bytes, a date or time, or lists, tuples, sets and dicts of such.

    Returns:
        JSON, with `NaN` and `Infinity` as Python writes them.

    Raises:
        TypeError: For a value of another type.

    >>> to_json({"until": ["a"], "t": (1, 2.5)})
    '{"until": ["a"], "t": {"$tuple": [1, 2.5]}}'

    """
    return json.dumps(_tagged(value))


def from_json(text: str) -> Any:
    """Read what `to_json` wrote.

    >>> from_json('{"$tuple": [1, {"$items": [[2, "a"]]}]}')
    (1, {2: 'a'})

    """
    return json.loads(text, object_hook=_untagged)


def _tagged(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool, int, float):
        return value
    if kind is list:
        return [_tagged(item) for item in value]
    if kind is dict:
        if all(type(key) is str for key in value) and not any(key.startswith("$") for key in value):
            return {key: _tagged(item) for key, item in value.items()}
        return {"$items": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    if kind not in _WRITERS or getattr(value, "tzinfo", None) is not None:
        raise TypeError(f"a {kind.__name__} has no form in JSON: {value!r:.80}")
    return {f"${kind.__name__.lower()}": _WRITERS[kind](value)}


def _items(values: Iterable[Any]) -> list[Any]:
    return [_tagged(item) for item in values]


_WRITERS: dict[type, Callable[[Any], Any]] = {
    tuple: _items,
    set: _items,
    frozenset: _items,
    bytes: lambda value: base64.b64encode(value).decode(),
    complex: lambda value: [value.real, value.imag],
    type(Ellipsis): lambda _: [],
    decimal.Decimal: str,
    datetime.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
}

_READERS: dict[str, Callable[[Any], Any]] = {
    "$items": dict,
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
    "$bytes": base64.b64decode,
    "$complex": lambda parts: complex(*parts),
    "$ellipsis": lambda _: ...,
    "$decimal": decimal.Decimal,
    "$timedelta": lambda parts: datetime.timedelta(*parts),
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
    "$time": datetime.time.fromisoformat,
}


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((key, item),) = value.items()
        if key in _READERS:
            return _READERS[key](item)
    return value
