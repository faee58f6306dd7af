"""Checks against results that differ between runs of Python: the order of a set, the address of an object."""

from __future__ import annotations

from typing import Any

from promptpress._config.python_subset.limits import WALKED
from promptpress._config.python_subset.values import Opaque

_TEXTS = (type(None), bool, int, float, complex, str, bytes, type(...), range, Opaque)


class UnsettledError(Exception):
    """Raised for a result that may differ between runs, or that isn't computed here."""


def settled_order(*values: object) -> None:
    """Raise an UnsettledError for a set of two or more elements, whose order may differ."""
    for value in values:
        if isinstance(value, (set, frozenset)) and len(value) > 1:
            raise UnsettledError("the order of a set's elements isn't the same in every run")


def settled_extreme(values: object) -> None:
    """Raise an UnsettledError for a set whose sorted order, or least element, may depend on its order.

    Sets of strings and sets of integers have only one sorted order.
    """
    if isinstance(values, (set, frozenset)):
        alike = all(isinstance(v, str) for v in values) or all(isinstance(v, int) for v in values)
        if not alike:
            settled_order(values)


def settled_text(*values: object) -> None:
    """Raise an UnsettledError for values whose text may differ: sets of two or more elements, objects without a `repr`.

    The caller limits the walk with `Budget.deep`.

    >>> settled_text([1, {"a": None}])

    """
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(value)
            todo.extend(dict.values(value))
        elif isinstance(value, WALKED):
            settled_order(value)
            todo.extend(value)
        elif isinstance(value, slice):
            todo += [value.start, value.stop, value.step]
        elif not isinstance(value, _TEXTS):
            raise UnsettledError(f"the text of a {type(value).__name__} isn't the same in every run")


def settled_identity(left: object, right: object) -> None:
    """Raise an UnsettledError if `is` depends on whether Python keeps equal constants as one object."""
    sides = (left, right)
    if not any(side is None or isinstance(side, bool) or side is ... for side in sides) and all(
        isinstance(side, (*_TEXTS, tuple, frozenset)) for side in sides
    ):
        raise UnsettledError("the identity of constants depends on Python's version")
