"""Equality and membership as in Python, for values that may depend on the row.

Every comparison by `==` and every search for a value among others uses this module. A table of kinds lists the values
that never equal each other. If neither the table nor an operation of the program has the answer, the row goes to
Jinja2.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import isnan
from typing import Any

from jinja2.runtime import Undefined
from markupsafe import Markup

from promptpress._jinja.compiler.steps import Steps
from promptpress._jinja.compiler.texts import holds_opaque
from promptpress._jinja.compiler.values import Choice, Closed, MarkedSafe, Sym, is_opaque
from promptpress._jinja.traced.values import (
    TracedBool,
    TracedFloat,
    TracedInt,
    TracedMarkup,
    TracedNone,
    TracedText,
    is_safe,
    plain,
)

_FAMILIES = {
    **dict.fromkeys(["bool", "int", "float"], "number"),
    **{name: name for name in ("none", "str", "list", "tuple", "dict")},
}
"""The family of each kind of values. Values of two families never equal each other.

Other kinds may equal anything: a decimal equals an int, and a row's map is a list of tuples.
"""
_KINDS: dict[type, str] = {
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    Markup: "str",
    TracedText: "str",
    TracedMarkup: "str",
    TracedInt: "int",
    TracedFloat: "float",
    TracedBool: "bool",
    TracedNone: "none",
    list: "list",
    tuple: "tuple",
    dict: "dict",
}
_REFLEXIVE = ("none", "bool", "int", "str")
"""Kinds whose values equal themselves even if they are computed again; a float may be NaN."""
_HASHABLE = ("none", "bool", "int", "float", "str")
_ITEMS_PER_STEP = 8
"""Items of a list that are compared at the cost of a visit to a node of the template's tree."""


def equal(machine: Steps, left: Any, right: Any, *, within: bool = False) -> Any:
    """Compare two values by `==`; return a bool, or a value of the row that is one.

    With `within`, they are items of containers, for which Python regards an object as equal to itself.

    Raises:
        UnsupportedError: If Python's answer isn't certain.
    """
    if type(left) is Choice or type(right) is Choice:
        return machine.lift(lambda a, b: equal(machine, a, b, within=within), left, right)
    if MarkedSafe in (type(left), type(right)):
        raise machine.unsupported("a safe text of the row is compared")
    if _is_same(left, right, within=within):
        return True
    machine.spend(1)
    if not holds_opaque(left) and not holds_opaque(right):
        machine.weigh(left, right)
        return machine.real(operator.eq, left, right)
    return _equal(machine, left, right, within=within)


def _equal(machine: Steps, left: Any, right: Any, *, within: bool) -> Any:
    """Compare two values, of which at least one is the row's or contains a value of the row."""
    families, others = _families(left), _families(right)
    for undefined, families_of_other in ((left, others), (right, families)):
        if issubclass(type(undefined), Undefined) and families_of_other is not None:
            # It compares only classes, or raises: so any other object can stand for the row's value.
            return machine.real(lambda undefined=undefined: undefined == object())
    if families is not None and others is not None and not families & others:
        return False
    if type(left) is Sym or type(right) is Sym:
        return _by_program(machine, left, right, within=within)
    if type(left) is not type(right) or type(left) not in (list, tuple, dict):
        raise machine.unsupported("a list or dict with values of the row is compared with an object")
    pairs = _pairs(left, right)
    machine.spend(len(pairs) // _ITEMS_PER_STEP)
    return _all_equal(machine, pairs, 0)


def contains(machine: Steps, container: Any, value: Any) -> Any:
    """Search for a value in a container by `in`; return a bool, or a value of the row that is one.

    Raises:
        UnsupportedError: If Python's answer isn't certain.
    """
    if type(container) is Choice or type(value) is Choice:
        return machine.lift(lambda a, b: contains(machine, a, b), container, value)
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
    if type(container) in (Sym, str, Markup, TracedText, TracedMarkup):
        return machine.operate("contains", _plain(container), _plain(value))
    raise machine.unsupported(f"`in` a {type(container).__name__} with a value of the row")


def _is_same(left: Any, right: Any, *, within: bool) -> bool:
    """Return true if two values surely are one object, or equal because they are the same expression."""
    if type(left) is Sym and type(right) is Sym:
        return left.node == right.node and left.kind.only(*_REFLEXIVE)
    return within and left is right and not is_opaque(left)


def _families(value: Any) -> frozenset[str] | None:
    """Return the families that a value may belong to; None if it may equal values of any family."""
    if type(value) is Closed:
        return frozenset({_FAMILIES[value.kind]})
    names = value.kind.names if type(value) is Sym else (_KINDS.get(type(value), ""),)
    if names is None or not all(name in _FAMILIES for name in names):
        return None
    return frozenset(_FAMILIES[name] for name in names)


def _by_program(machine: Steps, left: Any, right: Any, *, within: bool) -> Any:
    """Let the program compare two values, of which at least one is the row's."""
    if within and _may_be_nan(left) and _may_be_nan(right):
        # NaN equals NaN only if they are one object: if both values are NaN, the row goes to Jinja2.
        return machine.operate("contains", [_plain(left)], _plain(right))
    return machine.operate("eq", _plain(left), _plain(right))


def _may_be_nan(value: Any) -> bool:
    return not value.kind.never("float") if type(value) is Sym else type(value) is float and isnan(value)


def _plain(value: Any) -> Any:
    """Return a value as programs represent it: a text equals the same text, marked as safe or not."""
    return str(plain(value)) if is_safe(value) else plain(value)


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    """Return the pairs that Python compares for two lists, tuples or dicts, in order, up to one that surely differs."""
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
    # Python doesn't compare the items of lists of different lengths; of tuples it does.
    return differ if type(left) is list else [*zip(left, right, strict=False), *differ]


def _all_equal(machine: Steps, pairs: Sequence[tuple[Any, Any]], start: int) -> Any:
    for index in range(start, len(pairs)):
        truth = machine.condition(equal(machine, *pairs[index], within=True))
        if truth is False:
            return False
        if truth is not True:
            return machine.branch(truth, lambda: _all_equal(machine, pairs, index + 1), lambda: False)  # noqa: B023
    return True


def _is_among(machine: Steps, items: Sequence[Any], value: Any) -> Any:
    """Return true if one of several items equals a value; both may be of any kind."""
    machine.spend(len(items) // _ITEMS_PER_STEP)
    families = _families(value)
    likely = [item for item in items if _may_equal(item, families)]
    if not likely:
        return False
    if not any(map(holds_opaque, likely)) and all(_KINDS.get(type(item)) in _HASHABLE for item in likely):
        return machine.operate("contains", list(map(_plain, likely)), value)
    return _any_equal(machine, likely, value, 0)


def _may_equal(item: Any, families: frozenset[str] | None) -> bool:
    of_item = None if is_opaque(item) and type(item) is not Sym else _families(item)
    return of_item is None or families is None or bool(of_item & families)


def _any_equal(machine: Steps, items: Sequence[Any], value: Any, start: int) -> Any:
    for index in range(start, len(items)):
        truth = machine.condition(equal(machine, items[index], value, within=True))
        if truth is True:
            return True
        if truth is not False:
            return machine.branch(truth, lambda: True, lambda: _any_equal(machine, items, value, index + 1))  # noqa: B023
    return False
