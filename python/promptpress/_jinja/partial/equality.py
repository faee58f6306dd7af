"""Equality and membership as Python has them, of values that may be a row's.

Every comparison by `==`, and everything that looks for a value among others, comes here. A table of kinds says which
values never equal each other. What neither the table nor an operation of the program knows is Jinja2's.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from jinja2.runtime import Undefined
from markupsafe import Markup

from promptpress._jinja.partial.texts import holds_opaque
from promptpress._jinja.partial.values import Choice, MarkedSafe, Sym, is_opaque

if TYPE_CHECKING:
    from promptpress._jinja.partial.machine import Machine

__all__ = ["contains", "equal"]

_FAMILIES = {
    "none": "none",
    "bool": "number",
    "int": "number",
    "float": "number",
    "str": "text",
    "list": "list",
    "tuple": "tuple",
    "dict": "dict",
}
"""The family of each kind of values. Values of two families never equal each other.

Kinds that aren't here may equal anything: a decimal equals an int, and a row's map is a list of tuples.
"""
_KINDS: dict[type, str] = {
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    Markup: "str",
    list: "list",
    tuple: "tuple",
    dict: "dict",
}
_REFLEXIVE = ("none", "bool", "int", "str")
"""Kinds whose values equal themselves whenever they are computed anew; a float may be NaN."""
_HASHABLE = ("none", "bool", "int", "float", "str")
_ITEMS_PER_STEP = 8
"""So many items of a list are compared at the cost of a visit to a node of the template's tree."""


def equal(machine: Machine, left: Any, right: Any, *, within: bool = False) -> Any:
    """Compare two values by `==`.

    Args:
        machine: Takes the operations.
        left: The one value.
        right: The other value.
        within: Whether they are items of containers, where Python takes one object for equal to itself.

    Returns:
        A bool, or a value of the row that is one.

    Raises:
        UnsupportedError: If it isn't certain what Python says.

    """
    if type(left) is Choice or type(right) is Choice:
        return machine.lift(lambda one, other: equal(machine, one, other, within=within), left, right)
    if MarkedSafe in (type(left), type(right)):
        raise machine.unsupported("a safe text of the row is compared")
    if _is_same(left, right, within=within):
        return True
    machine.spend(1)
    if not holds_opaque(left) and not holds_opaque(right):
        machine.weigh(left, right)
        return machine.real(operator.eq, left, right)
    return _equal(machine, left, right, within=within)


def _equal(machine: Machine, left: Any, right: Any, *, within: bool) -> Any:
    """Compare two values, of which at least one is the row's or holds one."""
    families, others = _families(left), _families(right)
    for undefined, known in ((left, others), (right, families)):
        if issubclass(type(undefined), Undefined) and known is not None:
            # It tells values apart by their class alone, or raises: any other value stands for the row's.
            return machine.real(lambda one=undefined: one == object())
    if families is not None and others is not None and not families & others:
        return False
    if type(left) is Sym or type(right) is Sym:
        return _by_program(machine, left, right, within=within)
    if type(left) is not type(right) or type(left) not in (list, tuple, dict):
        raise machine.unsupported("a list or dict with values of the row is compared with an object")
    pairs = _pairs(left, right)
    machine.spend(len(pairs) // _ITEMS_PER_STEP)
    return _all_equal(machine, pairs, 0)


def contains(machine: Machine, container: Any, value: Any) -> Any:
    """Look for a value in a container by `in`.

    Args:
        machine: Takes the operations.
        container: What is searched.
        value: What is looked for.

    Returns:
        A bool, or a value of the row that is one.

    Raises:
        UnsupportedError: If it isn't certain what Python says.

    """
    if type(container) is Choice or type(value) is Choice:
        return machine.lift(lambda one, other: contains(machine, one, other), container, value)
    if MarkedSafe in (type(container), type(value)):
        raise machine.unsupported("a safe text of the row is compared")
    if not holds_opaque(value) and (type(container) is dict or not holds_opaque(container)):
        machine.weigh(container, value)
        return machine.real(operator.contains, container, value)
    if type(container) is dict:
        if not (type(value) is Sym and value.kind.only(*_HASHABLE)):
            raise machine.unsupported("a value of the row that may be no key is looked for among a dict's keys")
        return _is_among(machine, list(container), value)
    if type(container) in (list, tuple):
        return _is_among(machine, container, value)
    if type(container) in (Sym, str, Markup):
        return machine.operate("contains", _plain(container), _plain(value))
    raise machine.unsupported(f"`in` a {type(container).__name__} with a value of the row")


def _is_same(left: Any, right: Any, *, within: bool) -> bool:
    """Return true if two values surely are one object, or equal because they are the same expression."""
    if type(left) is Sym and type(right) is Sym:
        return left.node == right.node and left.kind.only(*_REFLEXIVE)
    return within and left is right and not is_opaque(left)


def _families(value: Any) -> frozenset[str] | None:
    """Return the families that a value may be of; None where it may equal values of any."""
    names = value.kind.names if type(value) is Sym else (_KINDS.get(type(value), ""),)
    if names is None or not all(name in _FAMILIES for name in names):
        return None
    return frozenset(_FAMILIES[name] for name in names)


def _by_program(machine: Machine, left: Any, right: Any, *, within: bool) -> Any:
    """Have the program compare two values, of which at least one is the row's."""
    if within and _may_be_nan(left) and _may_be_nan(right):
        # Whether NaN equals NaN depends on whether they are one object: where both are, the row is Jinja2's.
        return machine.operate("contains", [_plain(left)], _plain(right))
    return machine.operate("eq", _plain(left), _plain(right))


def _may_be_nan(value: Any) -> bool:
    return not value.kind.never("float") if type(value) is Sym else type(value) is float and isnan(value)


def _plain(value: Any) -> Any:
    """Return a value as programs know it: marked or not, a text equals the same texts."""
    return str(value) if type(value) is Markup else value


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    """Return what Python compares of two lists, tuples or dicts, in its order, up to what surely differs."""
    differ = [(True, False)]
    if type(left) is dict:
        if len(left) != len(right):
            return differ
        pairs: list[tuple[Any, Any]] = []
        for key, value in left.items():
            if key not in right:
                return pairs + differ
            pairs.append((value, right[key]))
        return pairs
    if len(left) == len(right):
        return list(zip(left, right, strict=True))
    # Lists of two lengths aren't looked into; tuples are.
    return differ if type(left) is list else [*zip(left, right, strict=False), *differ]


def _all_equal(machine: Machine, pairs: Sequence[tuple[Any, Any]], start: int) -> Any:
    for place in range(start, len(pairs)):
        found = machine.condition(equal(machine, *pairs[place], within=True))
        if found is False:
            return False
        if found is not True:
            return machine.branch(found, lambda: _all_equal(machine, pairs, place + 1), lambda: False)  # noqa: B023
    return True


def _is_among(machine: Machine, items: Sequence[Any], value: Any) -> Any:
    """Return whether one of several items equals a value; both may be of any kind."""
    machine.spend(len(items) // _ITEMS_PER_STEP)
    families = _families(value)
    likely = [item for item in items if _may_equal(item, families)]
    if not likely:
        return False
    if not any(map(holds_opaque, likely)) and all(type(item) in _KINDS and _is_scalar(item) for item in likely):
        return machine.operate("contains", list(map(_plain, likely)), value)
    return _any_equal(machine, likely, value, 0)


def _is_scalar(item: Any) -> bool:
    return type(item) not in (list, tuple, dict)


def _may_equal(item: Any, families: frozenset[str] | None) -> bool:
    known = None if is_opaque(item) and type(item) is not Sym else _families(item)
    return known is None or families is None or bool(known & families)


def _any_equal(machine: Machine, items: Sequence[Any], value: Any, start: int) -> Any:
    for place in range(start, len(items)):
        found = machine.condition(equal(machine, items[place], value, within=True))
        if found is True:
            return True
        if found is not False:
            return machine.branch(found, lambda: True, lambda: _any_equal(machine, items, value, place + 1))  # noqa: B023
    return False
