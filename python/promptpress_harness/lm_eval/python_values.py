"""Python values as JSON texts and back, for arguments that aren't texts."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Iterable
from typing import Any


def to_json(value: Any) -> str:
    """Write a value as JSON, with `NaN` and `Infinity` as Python writes them.

    A value of a type that JSON lacks is an object whose only key begins with `$`.
    """
    return json.dumps(_tagged(value))


def from_json(text: str) -> Any:
    """Read a text that `to_json` wrote."""
    return json.loads(text, object_hook=_untagged)


def _tagged(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool, int, float):
        return value
    if kind is list:
        return _tagged_items(value)
    if kind is dict:
        if all(type(key) is str for key in value) and not any(key.startswith("$") for key in value):
            return {key: _tagged(item) for key, item in value.items()}
        return {"$items": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    if kind not in _FORMS or getattr(value, "tzinfo", None) is not None:
        raise TypeError(f"a {kind.__name__} has no form in JSON: {value!r:.80}")
    write, _ = _FORMS[kind]
    return {f"${kind.__name__.lower()}": write(value)}


def _tagged_items(values: Iterable[Any]) -> list[Any]:
    return [_tagged(item) for item in values]


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((key, item),) = value.items()
        if key in _READERS:
            return _READERS[key](item)
    return value


_FORMS: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    tuple: (_tagged_items, tuple),
    set: (_tagged_items, set),
    frozenset: (_tagged_items, frozenset),
    bytes: (lambda value: base64.b64encode(value).decode(), base64.b64decode),
    complex: (lambda value: [value.real, value.imag], lambda parts: complex(*parts)),
    type(Ellipsis): (lambda _: [], lambda _: ...),
    decimal.Decimal: (str, decimal.Decimal),
    datetime.timedelta: (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: datetime.timedelta(*parts),
    ),
    **{kind: (kind.isoformat, kind.fromisoformat) for kind in (datetime.datetime, datetime.date, datetime.time)},
}
"""Functions that write values of each type as JSON values and read them; the type's name in lower case is the key."""

_READERS = {"$items": dict, **{f"${kind.__name__.lower()}": read for kind, (_, read) in _FORMS.items()}}
