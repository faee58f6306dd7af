"""Expressions of a Python configuration, evaluated if they are plain data."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any, ClassVar

from promptpress_harness.python_subset.call_expressions import Calls, as_mapping
from promptpress_harness.python_subset.formats import format_field
from promptpress_harness.python_subset.harmless import is_harmless
from promptpress_harness.python_subset.limits import SLOT_CHARS
from promptpress_harness.python_subset.operators import OPERATORS, operate
from promptpress_harness.python_subset.source import MISSING, UNBOUND, source_text
from promptpress_harness.python_subset.values import Opaque, first_opaque, is_stream

_DISPLAYS: dict[type[ast.expr], Callable[[Any], Any]] = {ast.List: list, ast.Tuple: tuple, ast.Set: set}


def _spread(result: dict[object, object], value: Any) -> None:
    result.update(as_mapping(value))


class Expressions(Calls):
    """The evaluation of the expressions of one file.

    An expression that needs an opaque value is opaque itself. All its parts are still evaluated, in Python's order,
    because they may change other values. If an opaque value decides which parts are evaluated, the file is refused,
    unless those parts change nothing.
    """

    def eval(self, node: ast.expr) -> Any:
        """Evaluate an expression to plain data, an iterator over data, or an opaque value.

        Raises:
            RefusedError: If the expression fails, or could change other values but can't be evaluated.

        """
        self.budget.step()
        handler = self._handlers.get(type(node))
        if handler is None:
            raise self.refuse(node, f"{type(node).__name__.lower()} {source_text(node)}", final=True)
        return handler(self, node)

    def data(self, node: ast.expr) -> Any:
        """Evaluate an expression to plain data, or refuse the file if the value is opaque."""
        return self.require_data(self.eval(node))

    def undecided(self, opaque: Opaque, *rest: ast.AST) -> Opaque:
        """Return an opaque value for an expression; refuse it if `rest`, which isn't evaluated, may change values."""
        if not all(map(is_harmless, rest)):
            raise self.as_final(opaque.refusal)
        return Opaque(opaque.refusal)

    # Names and parts

    def _name(self, node: ast.Name) -> object:
        value = self.scope.find(node.id)
        if value is not MISSING and value is not UNBOUND:
            return value
        if value is MISSING and node.id == "__name__":
            return "builtins"  # because the harness runs the code without a module
        if value is MISSING and hasattr(builtins, node.id):
            return self.symbol(node, f"builtins.{node.id}")
        raise self.refuse(node, f"the name {node.id!r} is not defined", broken=True)

    def _attribute(self, node: ast.Attribute) -> object:
        return self.attribute_of(node, self.eval(node.value))

    def _subscript(self, node: ast.Subscript) -> object:
        owner, key = self.eval(node.value), self.eval(node.slice)
        if (hidden := first_opaque((owner, key))) is not None:
            return Opaque(hidden.refusal)
        self.call(node, self.budget.keys, (key,))
        return self.call(node, operator.getitem, (owner, key))

    def _slice(self, node: ast.Slice) -> object:
        parts = [None if part is None else self.eval(part) for part in (node.lower, node.upper, node.step)]
        hidden = first_opaque(parts)
        return slice(*parts) if hidden is None else hidden

    # Displays

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        elements, hidden = self._elements(node.elts)
        if isinstance(node, ast.Set):
            self.call(node, self.budget.keys, elements)
        return Opaque(hidden.refusal) if hidden is not None else self.call(node, _DISPLAYS[type(node)], (elements,))

    def _dict(self, node: ast.Dict) -> Any:
        result: dict[object, object] = {}
        hidden: Opaque | None = None
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                spread = self.eval(value)
                outcome = spread if isinstance(spread, Opaque) else self.call(value, _spread, (result, spread))
            else:
                name = self.eval(key)
                self.call(node, self.budget.keys, (name,))
                outcome = self.call(node, result.__setitem__, (name, self.eval(value)))
            if isinstance(outcome, Opaque):
                hidden = outcome
        self.budget.items(SLOT_CHARS * len(result))
        return Opaque(hidden.refusal) if hidden is not None else result

    # Operators

    def operate(self, node: ast.AST, kind: type[ast.AST], left: Any, right: Any, *, in_place: bool = False) -> Any:
        """Apply the operator of a node class to its sides; the result is opaque if a side is."""
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Opaque):
                if is_stream(other):
                    raise self.as_final(side.refusal)
                return Opaque(side.refusal)
        if kind not in OPERATORS:
            raise self.refuse(node, f"operator {kind.__name__} in {source_text(node)}", final=True)
        return self.call(node, operate, (self.budget, kind, left, right, in_place), changes=in_place)

    def _binary(self, node: ast.BinOp) -> Any:
        return self.operate(node, type(node.op), self.eval(node.left), self.eval(node.right))

    def _unary(self, node: ast.UnaryOp) -> Any:
        return self.operate(node, type(node.op), self.eval(node.operand), None)

    def truth(self, node: ast.expr, value: Any) -> bool:
        return bool(self.call(node, bool, (value,)))

    def _boolean(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        result: object = None
        for index, value in enumerate(node.values):
            result = self.eval(value)
            rest = node.values[index + 1 :]
            if isinstance(result, Opaque) and rest:
                return self.undecided(result, *rest)
            if rest and self.truth(value, result) is not is_and:
                break
        return result

    def _compare(self, node: ast.Compare) -> Any:
        left = self.eval(node.left)
        result: object = True
        for position, (operation, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.eval(comparator)
            result = self.operate(node, type(operation), left, right)
            rest = node.comparators[position + 1 :]
            if isinstance(result, Opaque) and rest:
                if any(isinstance(later, (ast.In, ast.NotIn)) for later in node.ops[position + 1 :]):
                    raise self.as_final(result.refusal)
                return self.undecided(result, *rest)
            if rest and not self.truth(node, result):
                break
            left = right
        return result

    def _joined(self, node: ast.JoinedStr) -> Any:
        parts: list[Any] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                value = self.eval(part.value)
                spec = "" if part.format_spec is None else self.eval(part.format_spec)
                if isinstance(spec, Opaque):
                    value = spec
                if not isinstance(value, Opaque):
                    value = self.call(part.value, format_field, (self.budget, value, part.conversion, spec))
                parts.append(value)
            else:
                raise self.refuse(node, f"{type(part).__name__} in an f-string", final=True)
        if (hidden := first_opaque(parts)) is not None:
            return Opaque(hidden.refusal, shared=False)
        self.call(node, self.budget.text, (sum(map(len, parts)),))
        return "".join(parts)

    # Other

    def _walrus(self, node: ast.NamedExpr) -> Any:
        result = self.eval(node.value)
        assert isinstance(node.target, ast.Name)
        self.scope.binding().names[node.target.id] = result
        return result

    def _conditional(self, node: ast.IfExp) -> Any:
        test = self.eval(node.test)
        if isinstance(test, Opaque):
            return self.undecided(test, node.body, node.orelse)
        return self.eval(node.body if self.truth(node.test, test) else node.orelse)

    def _lambda(self, node: ast.Lambda) -> Opaque:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.eval(default)
        return Opaque(self.refuse(node, f"lambda {source_text(node)}"), inert=is_harmless(node.body))

    _handlers: ClassVar[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
        ast.Constant: lambda _, node: node.value,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Slice: _slice,
        ast.List: _display,
        ast.Tuple: _display,
        ast.Set: _display,
        ast.Dict: _dict,
        ast.ListComp: Calls.list_comprehension,
        ast.GeneratorExp: Calls.generator,
        ast.SetComp: Calls.set_comprehension,
        ast.DictComp: Calls.dict_comprehension,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.BoolOp: _boolean,
        ast.Compare: _compare,
        ast.JoinedStr: _joined,
        ast.Call: Calls.call_expression,
        ast.NamedExpr: _walrus,
        ast.IfExp: _conditional,
        ast.Lambda: _lambda,
    }
    """The method that evaluates each kind of expression."""
