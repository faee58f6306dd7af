"""Refuses results that differ from one run of Python to the next: the order of a set, the address of an object."""

from __future__ import annotations

from typing import Any

from .limits import VIEWS
from .values import Opaque

_WALKED: tuple[Any, ...] = (list, tuple, set, frozenset, *VIEWS)
_TEXTS = (type(None), bool, int, float, complex, str, bytes, type(...), range, Opaque)


class UnsettledError(Exception):
    """A result that isn't the same in every run, or that isn't computed here."""


def settled_order(*values: object) -> None:
    """Check the order in which values are iterated.

    Args:
        values: what is iterated.

    Raises:
        UnsettledError: for a set of two or more elements.

    Example:
        >>> settled_order({"a"}, ["b", "c"])

    """
    for value in values:
        if isinstance(value, (set, frozenset)) and len(value) > 1:
            raise UnsettledError("the order of a set's elements isn't the same in every run")


def settled_extreme(values: object) -> None:
    """Check the order that sorting, or the choice of the least element, starts from.

    Args:
        values: what is sorted. A set of strings, or of integers, has one sorted order.

    Raises:
        UnsettledError: for any other set of two or more elements.

    Example:
        >>> settled_extreme({"a", "b"})

    """
    if isinstance(values, (set, frozenset)):
        alike = all(isinstance(v, str) for v in values) or all(isinstance(v, int) for v in values)
        if not alike:
            settled_order(values)


def settled_text(*values: object) -> None:
    """Check that the text of values is the same in every run.

    Args:
        values: what is turned into text; `Budget.deep` has bounded the walk.

    Raises:
        UnsettledError: for sets of two or more elements, and for objects whose text is their address.

    Example:
        >>> settled_text([1, {"a": None}])

    """
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(value)
            todo.extend(dict.values(value))
        elif isinstance(value, _WALKED):
            settled_order(value)
            todo.extend(value)
        elif isinstance(value, slice):
            todo += [value.start, value.stop, value.step]
        elif not isinstance(value, _TEXTS):
            raise UnsettledError(f"the text of a {type(value).__name__} isn't the same in every run")


def settled_identity(left: object, right: object) -> None:
    """Check that `is` doesn't depend on which equal constants Python keeps once.

    Args:
        left: one side.
        right: the other side.

    Raises:
        UnsettledError: for two immutable values other than None, True, False and `...`.

    Example:
        >>> settled_identity(None, "a")

    """
    sides = (left, right)
    if not any(side is None or isinstance(side, bool) or side is ... for side in sides) and all(
        isinstance(side, (*_TEXTS, tuple, frozenset)) for side in sides
    ):
        raise UnsettledError("the identity of constants depends on Python's version")
