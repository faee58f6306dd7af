"""Expressions of a Python configuration, evaluated as far as they are plain data."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

from .call_expressions import Calls, as_mapping
from .formats import format_field
from .harmless import is_harmless
from .limits import SLOT_CHARS
from .operators import OPERATORS, operate
from .scopes import MISSING, UNBOUND
from .source import source_text
from .values import Opaque, is_stream


def _spread(result: dict[object, object], value: Any) -> None:
    result.update(as_mapping(value))


class Expressions(Calls):
    """The values of one file: its names, and how an expression over them is evaluated.

    An expression that needs an opaque value is opaque itself. All of its parts are still evaluated, in Python's order,
    because they may change other values; where an opaque value decides which parts are evaluated, the file is refused
    unless those parts change nothing.

    Example:
        >>> from promptpress._config_files.python_config.limits import Budget
        >>> from promptpress._config_files.python_config.targets import Targets
        >>> file = Targets("my.py", Budget())
        >>> file.eval(ast.parse("dict(a=['x' + str(i) for i in range(2)])", mode="eval").body)
        {'a': ['x0', 'x1']}

    """

    def eval(self, node: ast.expr) -> Any:
        """Evaluate an expression.

        Args:
            node: the expression.

        Returns:
            Plain data, an iterator over data, or an opaque value.

        Raises:
            RefusedError: when it fails, or when leaving it out could change other values.

        """
        self.budget.step()
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.refuse(node, f"{type(node).__name__.lower()} {source_text(node)}", final=True)
        return handler(self, node)

    def data(self, node: ast.expr) -> Any:
        """Evaluate an expression whose value decides what happens next.

        Args:
            node: the expression.

        Returns:
            Plain data.

        Raises:
            RefusedError: for an opaque value too.

        """
        result = self.eval(node)
        if isinstance(result, Opaque):
            raise self.finally_(result.refusal)
        return result

    def undecided(self, opaque: Opaque, *rest: ast.AST) -> Opaque:
        """Leave an expression unevaluated because an opaque value decides how it goes on.

        Args:
            opaque: the value.
            rest: what is left unevaluated.

        Returns:
            An opaque value for the expression.

        Raises:
            RefusedError: when what is left out could change other values.

        """
        if not all(map(is_harmless, rest)):
            raise self.finally_(opaque.refusal)
        return Opaque(opaque.refusal)

    # Names and parts

    def _name(self, node: ast.Name) -> object:
        value = self.scope.find(node.id)
        if value is not MISSING and value is not UNBOUND:
            return value
        if value is MISSING and node.id == "__name__":
            return "builtins"  # as of code that is run without a module, which is how the harness does
        if value is MISSING and hasattr(builtins, node.id):
            return self.symbol(node, f"builtins.{node.id}")
        raise self.refuse(node, f"the name {node.id!r} is not defined", broken=True)

    def _attribute(self, node: ast.Attribute) -> object:
        return self.attribute_of(node, self.eval(node.value))

    def _subscript(self, node: ast.Subscript) -> object:
        owner, key = self.eval(node.value), self.eval(node.slice)
        for part in (owner, key):
            if isinstance(part, Opaque):
                return Opaque(part.refusal)
        self.call(node, self.budget.keys, (key,))
        return self.call(node, operator.getitem, (owner, key))

    def _slice(self, node: ast.Slice) -> object:
        parts = [None if part is None else self.eval(part) for part in (node.lower, node.upper, node.step)]
        return next((part for part in parts if isinstance(part, Opaque)), slice(*parts))

    # Displays

    def _display(self, node: ast.List | ast.Tuple | ast.Set, kind: Callable[..., Any]) -> Any:
        elements, hidden = self._elements(node.elts)
        if kind is set:
            self.call(node, self.budget.keys, elements)
        return Opaque(hidden.refusal) if hidden is not None else self.call(node, kind, (elements,))

    def _dict(self, node: ast.Dict) -> Any:
        result: dict[object, object] = {}
        hidden: Opaque | None = None
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                spread = self.eval(value)
                done = spread if isinstance(spread, Opaque) else self.call(value, _spread, (result, spread))
            else:
                name = self.eval(key)
                self.call(node, self.budget.keys, (name,))
                done = self.call(node, result.__setitem__, (name, self.eval(value)))
            if isinstance(done, Opaque):
                hidden = done
        self.budget.items(SLOT_CHARS * len(result))
        return Opaque(hidden.refusal) if hidden is not None else result

    # Operators

    def operate(self, node: ast.AST, kind: type[ast.AST], left: Any, right: Any, *, in_place: bool = False) -> Any:
        """Apply an operator.

        Args:
            node: where it stands.
            kind: the operator's node class.
            left: the left side, or the only one.
            right: the right side.
            in_place: whether it is an augmented assignment.

        Returns:
            The result; an opaque value if a side is opaque.

        Raises:
            RefusedError: when it fails, is too large, or the operator is none of data.

        """
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Opaque):
                if is_stream(other):
                    raise self.finally_(side.refusal)
                return Opaque(side.refusal)
        if kind not in OPERATORS:
            raise self.refuse(node, f"operator {kind.__name__} in {source_text(node)}", final=True)
        return self.call(node, operate, (self.budget, kind, left, right, in_place), changes=in_place)

    def _binary(self, node: ast.BinOp) -> Any:
        return self.operate(node, type(node.op), self.eval(node.left), self.eval(node.right))

    def _unary(self, node: ast.UnaryOp) -> Any:
        return self.operate(node, type(node.op), self.eval(node.operand), None)

    def truth(self, node: ast.expr, value: Any) -> bool:
        """Return the truth of a value.

        Args:
            node: where it stands.
            value: data.

        Returns:
            Its truth.

        """
        return bool(self.call(node, bool, (value,)))

    def _boolean(self, node: ast.BoolOp) -> Any:
        wanted = isinstance(node.op, ast.And)
        result: object = None
        for position, value in enumerate(node.values):
            result = self.eval(value)
            rest = node.values[position + 1 :]
            if isinstance(result, Opaque) and rest:
                return self.undecided(result, *rest)
            if rest and self.truth(value, result) is not wanted:
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
                    raise self.finally_(result.refusal)
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
        hidden = next((part for part in parts if isinstance(part, Opaque)), None)
        if hidden is not None:
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


_HANDLERS: dict[type[ast.AST], Callable[[Expressions, Any], Any]] = {
    ast.Constant: lambda _, node: node.value,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.List: lambda file, node: file._display(node, list),
    ast.Tuple: lambda file, node: file._display(node, tuple),
    ast.Set: lambda file, node: file._display(node, set),
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions.list_comprehension,
    ast.GeneratorExp: Expressions.generator,
    ast.SetComp: Expressions.set_comprehension,
    ast.DictComp: Expressions.dict_comprehension,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.JoinedStr: Expressions._joined,
    ast.Call: Expressions._call,
    ast.NamedExpr: Expressions._walrus,
    ast.IfExp: Expressions._conditional,
    ast.Lambda: Expressions._lambda,
}
