"""Expressions of a template: Jinja's own environment evaluates known values, the rest becomes the program's.

Every comparison by `==` and every search for a value among others uses `equal` and `contains`. A table of kinds lists
the values that never equal each other. If neither the table nor an operation of the program has the answer, the row
goes to Jinja2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

from jinja2 import nodes
from jinja2.compiler import Frame
from jinja2.runtime import Undefined
from markupsafe import Markup

from promptpress._jinja.compiler import formats
from promptpress._jinja.compiler.machine import Machine, Scope
from promptpress._jinja.compiler.operands import TEXTS, holds_opaque
from promptpress._jinja.compiler.values import (
    MISSING,
    BailError,
    Choice,
    Closed,
    LoopControl,
    MarkedSafe,
    NeedsKeyError,
    Sym,
    is_opaque,
    is_text,
)
from promptpress._jinja.sandbox.bounded import OPERATOR_SYMBOLS, has_negative_base
from promptpress._jinja.sandbox.bounds import LimitExceededError
from promptpress._jinja.traced_values import (
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


def equal(machine: Machine, left: Any, right: Any, *, within: bool = False) -> Any:
    """Compare two values by `==`; return a bool, or a value of the row that is one.

    With `within`, they are items of containers, for which Python regards an object as equal to itself.
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


def _equal(machine: Machine, left: Any, right: Any, *, within: bool) -> Any:
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


def contains(machine: Machine, container: Any, value: Any) -> Any:
    """Search for a value in a container by `in`; return a bool, or a value of the row that is one."""
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


def _by_program(machine: Machine, left: Any, right: Any, *, within: bool) -> Any:
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


def _all_equal(machine: Machine, pairs: Sequence[tuple[Any, Any]], start: int) -> Any:
    for index in range(start, len(pairs)):
        truth = machine.condition(equal(machine, *pairs[index], within=True))
        if truth is False:
            return False
        if truth is not True:
            return machine.branch(truth, lambda: _all_equal(machine, pairs, index + 1), lambda: False)  # noqa: B023
    return True


def _is_among(machine: Machine, items: Sequence[Any], value: Any) -> Any:
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


def _any_equal(machine: Machine, items: Sequence[Any], value: Any, start: int) -> Any:
    for index in range(start, len(items)):
        truth = machine.condition(equal(machine, items[index], value, within=True))
        if truth is True:
            return True
        if truth is not False:
            return machine.branch(truth, lambda: True, lambda: _any_equal(machine, items, value, index + 1))  # noqa: B023
    return False


_OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod"}
_ORDER: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "lt": ("lt", operator.lt),
    "lteq": ("le", operator.le),
    "gt": ("gt", operator.gt),
    "gteq": ("ge", operator.ge),
}


def compare(machine: Machine, operator: str, left: Any, right: Any) -> Any:
    """Compare two values as Python does; the operator has its name in Jinja's tree, such as `eq` or `notin`."""
    if operator in ("eq", "ne"):
        result = equal(machine, left, right)
        return result if operator == "eq" else machine.negated(result)
    if operator in ("in", "notin"):
        result = contains(machine, right, left)
        return result if operator == "in" else machine.negated(result)
    operation, function = _ORDER[operator]
    if not is_opaque(left) and not is_opaque(right):
        machine.weigh(left, right)
        return machine.real(function, left, right)
    if MarkedSafe in (type(left), type(right)):
        raise machine.unsupported("a safe text of the row is compared")
    return machine.operate(operation, left, right)


class Expressions:
    """Evaluates expressions."""

    def __init__(self, machine: Machine, scope: Scope) -> None:
        self.machine = machine
        self.scope = scope

    def evaluate(self, node: nodes.Node, frame: Frame) -> Any:
        """Evaluate an expression; if that can't be done, or raises, a BailError sends the row to Jinja2."""
        self.machine.step(node)
        try:
            return self._evaluated(node, frame)
        except (BailError, NeedsKeyError, LoopControl, RecursionError, LimitExceededError, MemoryError):
            raise
        except Exception as error:
            raise BailError(f"raises {type(error).__name__}: {error}", self.machine.lineno) from error

    def _evaluated(self, node: nodes.Node, frame: Frame) -> Any:
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is not None:
            return visit(node, frame)
        operator = OPERATOR_SYMBOLS.get(type(node))
        if operator is not None:
            if operator == "**" and has_negative_base(node, frame.eval_ctx):  # type: ignore[arg-type]
                raise self.machine.unsupported("a power of a negative number, which Jinja2 negates last")
            left, right = self.evaluate(node.left, frame), self.evaluate(node.right, frame)  # type: ignore[attr-defined]
            return self.machine.lift(lambda a, b: self._binary(operator, a, b), left, right)
        raise self.machine.unsupported(f"{type(node).__name__} isn't compiled")

    # Constants and names

    def _const(self, node: nodes.Const, _: Frame) -> Any:
        return self.machine.finite(node.value)

    def _templatedata(self, node: nodes.TemplateData, _: Frame) -> Any:
        return node.data

    def _name(self, node: nodes.Name, frame: Frame) -> Any:
        if node.name == "self" and self.scope.has_template_self:
            raise self.machine.unsupported("the variable `self`, which is the template itself")
        value = self.scope.get(frame.symbols.ref(node.name))
        undefined = self.machine.environment.undefined
        return self.machine.lift(lambda value: undefined(name=node.name) if value is MISSING else value, value)

    def _list(self, node: nodes.List, frame: Frame) -> Any:
        return [self.evaluate(item, frame) for item in node.items]

    def _tuple(self, node: nodes.Tuple, frame: Frame) -> Any:
        return tuple(self.evaluate(item, frame) for item in node.items)

    def _dict(self, node: nodes.Dict, frame: Frame) -> Any:
        pairs = [(self.evaluate(pair.key, frame), self.evaluate(pair.value, frame)) for pair in node.items]
        self.machine.weigh(*(key for key, _ in pairs if not is_opaque(key)))
        return self.machine.real(dict, pairs)

    def _environmentattribute(self, node: nodes.EnvironmentAttribute, _: Frame) -> Any:
        return getattr(self.machine.environment, node.name)

    def _extensionattribute(self, node: nodes.ExtensionAttribute, _: Frame) -> Any:
        return getattr(self.machine.environment.extensions[node.identifier], node.name)

    # Operators

    def _binary(self, operator: str, left: Any, right: Any) -> Any:
        machine = self.machine
        if operator == "%" and type(left) in TEXTS and holds_opaque(right):
            return formats.printf(machine, left, right)
        if not is_opaque(left) and not is_opaque(right):
            return machine.real(self.machine.environment.call_binop, self.machine.context, operator, left, right)
        if MarkedSafe in (type(left), type(right)):
            raise machine.unsupported("a safe text of the row is joined with `+`")
        if operator not in _OPERATIONS:
            raise machine.unsupported(f"`{operator}` on a value of the row")
        if operator == "%" and type(left) is Sym and not left.kind.never("str"):
            raise machine.unsupported("`%` on a text with a value of the row")
        if operator == "+" and is_text(left) and is_text(right):
            return machine.concat([left, right])
        return machine.operate(_OPERATIONS[operator], left, right)

    def _neg(self, node: nodes.Neg, frame: Frame) -> Any:
        def negative(value: Any) -> Any:
            return self.machine.operate("neg", value) if is_opaque(value) else self.machine.real(lambda: -value)

        return self.machine.lift(negative, self.evaluate(node.node, frame))

    def _pos(self, node: nodes.Pos, frame: Frame) -> Any:
        value = self.evaluate(node.node, frame)
        return self.machine.real(lambda: +value)

    def _not(self, node: nodes.Not, frame: Frame) -> Any:
        return self.machine.negated(self.evaluate(node.node, frame))

    def _and(self, node: nodes.And, frame: Frame) -> Any:
        left = self.evaluate(node.left, frame)
        condition = self.machine.condition(left)
        otherwise = False if type(left) is Sym and left.kind.only("bool") else left
        return self.machine.branch(condition, lambda: self.evaluate(node.right, frame), lambda: otherwise)

    def _or(self, node: nodes.Or, frame: Frame) -> Any:
        left = self.evaluate(node.left, frame)
        condition = self.machine.condition(left)
        then = True if type(left) is Sym and left.kind.only("bool") else left
        return self.machine.branch(condition, lambda: then, lambda: self.evaluate(node.right, frame))

    def _condexpr(self, node: nodes.CondExpr, frame: Frame) -> Any:
        soft = frame.soft()

        def otherwise() -> Any:
            if node.expr2 is not None:
                return self.evaluate(node.expr2, soft)
            return Undefined(
                f"the inline if-expression on line {node.lineno} evaluated to false and no else section was defined."
            )

        condition = self.machine.condition(self.evaluate(node.test, soft))
        return self.machine.branch(condition, lambda: self.evaluate(node.expr1, soft), otherwise)

    def _concat(self, node: nodes.Concat, frame: Frame) -> Any:
        values = [self.evaluate(part, frame) for part in node.nodes]

        def joined(*values: Any) -> Any:
            if not any(map(is_opaque, values)):
                return self.machine.concat([str(self.machine.text(value)) for value in values])
            plain = [value.value if type(value) is MarkedSafe else value for value in values]
            return self.machine.concat([self.machine.text(value) for value in plain])

        return self.machine.lift(joined, *values)

    def _compare(self, node: nodes.Compare, frame: Frame) -> Any:
        return self._compared(self.evaluate(node.expr, frame), node.ops, frame)

    def _compared(self, left: Any, rest: list[nodes.Operand], frame: Frame) -> Any:
        right = self.evaluate(rest[0].expr, frame)
        result = self.machine.lift(lambda a, b: compare(self.machine, rest[0].op, a, b), left, right)
        if len(rest) == 1:
            return result
        condition = self.machine.condition(result)
        return self.machine.branch(condition, lambda: self._compared(right, rest[1:], frame), lambda: result)

    def arguments(self, node: Any, frame: Frame) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and named arguments of a call, a filter or a test."""
        positional = [self.evaluate(argument, frame) for argument in node.args]
        named = {keyword.key: self.evaluate(keyword.value, frame) for keyword in node.kwargs}
        if node.dyn_args is not None:
            positional += self.machine.real(list, self.evaluate(node.dyn_args, frame))
        if node.dyn_kwargs is not None:
            more = self.evaluate(node.dyn_kwargs, frame)
            if type(more) is not dict or not all(type(key) is str and key not in named for key in more):
                raise self.machine.unsupported("named arguments out of what is no dict of new names")
            named.update(more)
        return positional, named
