"""Values of Python as JSON texts, and back: what an argument holds that is no text."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable
from typing import Any

__all__ = ["from_json", "to_json"]

_DATES: dict[str, Any] = {"datetime": datetime.datetime, "date": datetime.date, "time": datetime.time}


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
    if kind in (tuple, set, frozenset):
        return {f"${kind.__name__}": [_tagged(item) for item in value]}
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if kind is complex:
        return {"$complex": [value.real, value.imag]}
    if kind is type(Ellipsis):
        return {"$ellipsis": []}
    if kind is decimal.Decimal:
        return {"$decimal": str(value)}
    if kind is datetime.timedelta:
        return {"$timedelta": [value.days, value.seconds, value.microseconds]}
    if kind.__name__ in _DATES and kind is _DATES[kind.__name__] and getattr(value, "tzinfo", None) is None:
        return {f"${kind.__name__}": value.isoformat()}
    raise TypeError(f"a {kind.__name__} has no form in JSON: {value!r:.80}")


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
    **{f"${name}": kind.fromisoformat for name, kind in _DATES.items()},
}


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((key, item),) = value.items()
        if key in _READERS:
            return _READERS[key](item)
    return value
