"""Whether two values of the harness can't be told apart, and if they can, where."""

from __future__ import annotations

import math
from typing import Any


def difference(one: Any, other: Any) -> str:
    """Where two values differ: in type, value, or the order of keys.

    Args:
        one: A value, with lists, tuples, dicts and objects of attributes in it.
        other: Another.

    Returns:
        The place, with what stands there; nothing if they don't differ.

    Example:
        >>> difference({"a": [1, 2]}, {"a": [1, True]})
        ' (at a[1]: 2, True)'
        >>> difference(float("nan"), float("nan"))
        ''
    """
    return _difference(one, other, "")


def same(one: Any, other: Any) -> bool:
    """Whether two values of lists and dicts can't be told apart, said sooner than `difference` does.

    Args:
        one: A value.
        other: Another.

    Example:
        >>> same({"a": [1, "x"]}, {"a": [1, "x"]}), same([1], [1.0])
        (True, False)
    """
    kind = type(one)
    if one is other:
        return True
    if kind is not type(other):
        return False
    if kind is str or kind is int:
        return bool(one == other)
    if kind is dict:
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if kind is list:
        return len(one) == len(other) and all(map(same, one, other))
    return not _difference(one, other, "")


def _difference(one: Any, other: Any, place: str) -> str:
    if one is other:
        return ""
    if type(one) is type(other):
        if isinstance(one, (list, tuple)):
            return _in_list(one, other, place)
        if isinstance(one, dict):
            return _in_dict(one, other, place)
        if hasattr(one, "__dict__"):
            return _in_dict(vars(one), vars(other), place)
        if _same_number(one, other) if isinstance(one, float) else one == other:
            return ""
    return _told(one, other, place)


def _same_number(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def _in_list(one: Any, other: Any, place: str) -> str:
    if len(one) != len(other):
        return _told(one, other, place)
    pairs = enumerate(zip(one, other, strict=True))
    return next((found for at, (a, b) in pairs if (found := _difference(a, b, f"{place}[{at}]"))), "")


def _in_dict(one: dict[Any, Any], other: dict[Any, Any], place: str) -> str:
    if list(one) != list(other):
        return _told(list(one), list(other), place)
    begin = f"{place}." if place else ""
    return next((found for key in one if (found := _difference(one[key], other[key], f"{begin}{key}"))), "")


_SHOWN = 60


def _told(one: Any, other: Any, place: str) -> str:
    texts = [text if len(text := repr(value)) <= _SHOWN else text[:_SHOWN] + "..." for value in (one, other)]
    return f" ({f'at {place}: ' if place else ''}{texts[0]}, {texts[1]})"
