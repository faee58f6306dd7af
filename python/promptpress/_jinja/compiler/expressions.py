"""Expressions of a template: Jinja's own environment evaluates known values, the rest becomes the program's."""

from __future__ import annotations

import operator as operator_module
from collections.abc import Callable
from functools import partial
from typing import Any

from jinja2 import nodes
from jinja2.compiler import Frame
from jinja2.runtime import Undefined

from promptpress._jinja.compiler import calls, filters, tests
from promptpress._jinja.compiler.equality import contains, equal
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.operands import SCALARS, TEXTS
from promptpress._jinja.compiler.scope import Scope
from promptpress._jinja.compiler.values import (
    MISSING,
    BailError,
    LoopControl,
    MarkedSafe,
    NeedsKeyError,
    Sym,
    is_opaque,
    is_text,
)
from promptpress._jinja.sandbox.bounded import OPERATOR_SYMBOLS, has_negative_base
from promptpress._jinja.sandbox.bounds import LimitExceededError
from promptpress._jinja.traced.values import plain

_OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod"}
_ORDER: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "lt": ("lt", operator_module.lt),
    "lteq": ("le", operator_module.le),
    "gt": ("gt", operator_module.gt),
    "gteq": ("ge", operator_module.ge),
}


class Expressions:
    """Evaluates expressions in an environment whose filters and tests handle values of the row."""

    def __init__(self, machine: Machine, scope: Scope, environment: Any, context: Any) -> None:
        self.machine = machine
        self.scope = scope
        self.environment = environment
        self.context = context
        self.make_macro: Callable[..., Any]

    def evaluate(self, node: nodes.Node, frame: Frame) -> Any:
        """Evaluate an expression.

        Raises:
            BailError: If the expression can't be evaluated, or raises: then the row goes to Jinja2.
        """
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
        undefined = self.environment.undefined
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
        return getattr(self.environment, node.name)

    def _extensionattribute(self, node: nodes.ExtensionAttribute, _: Frame) -> Any:
        return getattr(self.environment.extensions[node.identifier], node.name)

    # Operators

    def _binary(self, operator: str, left: Any, right: Any) -> Any:
        machine = self.machine
        if not is_opaque(left) and not is_opaque(right):
            return machine.real(self.environment.call_binop, self.context, operator, left, right)
        if MarkedSafe in (type(left), type(right)):
            raise machine.unsupported("a safe text of the row is joined with `+`")
        if operator not in _OPERATIONS:
            raise machine.unsupported(f"`{operator}` on a value of the row")
        if operator == "%" and (type(left) in TEXTS or (type(left) is Sym and not left.kind.never("str"))):
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
        result = self.machine.lift(lambda a, b: self.compare(rest[0].op, a, b), left, right)
        if len(rest) == 1:
            return result
        condition = self.machine.condition(result)
        return self.machine.branch(condition, lambda: self._compared(right, rest[1:], frame), lambda: result)

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        """Compare two values as Python does; the operator has its name in Jinja's tree, such as `eq` or `notin`."""
        machine = self.machine
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

    # Parts

    def _getattr(self, node: nodes.Getattr, frame: Frame) -> Any:
        value = self.evaluate(node.node, frame)
        return self.machine.lift(lambda value: self.attribute(value, node.attr), value)

    def attribute(self, value: Any, name: str) -> Any:
        """Return `value.name`, if it isn't called."""
        if not is_opaque(value):
            return self.scope.attribute(self.environment, value, name)
        return calls.attribute(self, value, name)

    def _getitem(self, node: nodes.Getitem, frame: Frame) -> Any:
        value = self.evaluate(node.node, frame)
        if isinstance(node.arg, nodes.Slice):
            bounds = [
                None if bound is None else self.evaluate(bound, frame)
                for bound in (node.arg.start, node.arg.stop, node.arg.step)
            ]
            return self.machine.lift(self.slice, value, *bounds)
        return self.machine.lift(self.item, value, self.evaluate(node.arg, frame))

    def slice(self, value: Any, *bounds: Any) -> Any:
        """Return `value[start:stop:step]`."""
        if not any(map(is_opaque, (value, *bounds))):
            return self.machine.real(lambda: self.environment.measured(value[slice(*bounds)]))
        if type(value) is Sym or type(value) in (*TEXTS, list):
            return self.machine.operate("slice", value, *bounds)
        raise self.machine.unsupported(f"a slice of a {type(value).__name__} that the row decides")

    def item(self, value: Any, key: Any) -> Any:
        """Return `value[key]`."""
        machine = self.machine
        if not is_opaque(value) and not is_opaque(key):
            machine.weigh(key)
            return machine.real(self.environment.getitem, value, key)
        if type(value) is dict and type(key) is Sym:
            return self._value_of_key(value, key)
        if MarkedSafe in (type(value), type(key)):
            raise machine.unsupported("a part of a safe text of the row")
        if type(value) is Sym and type(key) in TEXTS:
            return calls.field(self, value, plain(key))
        return machine.operate("item", list(value) if type(value) is tuple else value, key)

    def _value_of_key(self, value: dict[Any, Any], key: Sym) -> Any:
        """Return a dict's value for a key of the row."""
        # A value of the row that can't be a key isn't among the keys either, so the row goes to Jinja2.
        keys = [plain(name) for name in value]
        if not all(type(name) in SCALARS for name in keys):
            raise self.machine.unsupported("a dict's value by a key of the row")
        index = self.machine.operate("index", keys, key)
        return self.machine.operate("item", list(value.values()), index)

    # Filters, tests, calls

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

    def _filter(self, node: nodes.Filter, frame: Frame) -> Any:
        assert node.node is not None
        return self.filtered(node, self.evaluate(node.node, frame), frame)

    def filtered(self, node: nodes.Filter, value: Any, frame: Frame) -> Any:
        """Apply a filter to a value."""
        positional, named = self.arguments(node, frame)
        return self.machine.lift_call(partial(filters.apply, self, node.name), value, positional, named)

    def _test(self, node: nodes.Test, frame: Frame) -> Any:
        value = self.evaluate(node.node, frame)
        positional, named = self.arguments(node, frame)

        def apply(value: Any, *arguments: Any) -> Any:
            return tests.apply(self, node.name, value, list(arguments), named)

        return self.machine.lift(apply, value, *positional)

    def _call(self, node: nodes.Call, frame: Frame) -> Any:
        return calls.call(self, node, frame, None)
