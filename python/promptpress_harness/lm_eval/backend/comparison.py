"""Exact comparison of the harness's values: types, values and the order of keys."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

_MAX_EXCERPT = 60


def difference(left: Any, right: Any) -> str:
    """Return the first difference of two values with its path, as text; an empty text if there is none.

    Lists, tuples, dicts and objects with attributes are compared part by part.

    >>> difference({"a": [1, 2]}, {"a": [1, True]})
    ' (at a[1]: 2, True)'
    >>> difference(float("nan"), float("nan"))
    ''
    """
    first = _difference(left, right)
    if first is None:
        return ""
    path, *values = first
    path = path.removeprefix(".")
    excerpts = [text if len(text := repr(value)) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "..." for value in values]
    return f" ({f'at {path}: ' if path else ''}{', '.join(excerpts)})"


def _difference(left: Any, right: Any) -> tuple[str, Any, Any] | None:
    """Return the path to the first difference with the two values there; None if there is none."""
    kind = type(left)
    if left is right or (kind in {str, int} and kind is type(right) and left == right):
        return None
    if kind is type(right):
        if not isinstance(left, (list, tuple, dict)) and hasattr(left, "__dict__"):
            left, right = dict(vars(left)), dict(vars(right))
        if isinstance(left, dict):
            keys, other_keys = list(left), list(right)
            return _first_part(left, right, keys, ".{}") if keys == other_keys else ("", keys, other_keys)
        if isinstance(left, (list, tuple)) and len(left) == len(right):
            return _first_part(left, right, range(len(left)), "[{}]")
        if _same_float(left, right) if isinstance(left, float) else left == right:
            return None
    return "", left, right


def _first_part(left: Any, right: Any, keys: Iterable[Any], form: str) -> tuple[str, Any, Any] | None:
    for key in keys:
        if (part := _difference(left[key], right[key])) is not None:
            path, *values = part
            return form.format(key) + path, *values
    return None


def _same_float(left: float, right: float) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)
