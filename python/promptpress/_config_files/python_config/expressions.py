"""Expressions of a Python configuration, evaluated as far as they are plain data."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any

from .calls import FUNCTIONS, STORING_FUNCTIONS
from .formats import format_value
from .limits import SLOT_CHARS
from .methods import METHODS, MUTATING_METHODS, STORING_METHODS
from .operators import OPERATORS, operate
from .source import Source, source_text
from .values import Opaque, RefusedError, Symbol

_CONVERSIONS: dict[int, Callable[[object], object]] = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}


class Expressions(Source):
    """The values of one file: its names, and how an expression over them is evaluated.

    Example:
        >>> from promptpress._config_files.python_config.limits import Budget
        >>> file = Expressions("my.py", Budget())
        >>> file.eval(ast.parse("dict(a=['x' + str(i) for i in range(2)])", mode="eval").body)
        {'a': ['x0', 'x1']}

    """

    def value(self, node: ast.expr) -> object:
        """Evaluate what is only put somewhere: what can't be read is refused when it is needed, not before.

        Args:
            node: the expression.

        Returns:
            Its value, or an opaque one.

        Raises:
            RefusedError: when leaving the expression out could change other values.

        """
        try:
            return self.eval(node)
        except RefusedError as refusal:
            if refusal.final:
                raise
            if any(isinstance(n, ast.Attribute) and n.attr in MUTATING_METHODS for n in ast.walk(node)):
                raise self.finally_(refusal) from None
            return Opaque(refusal.with_traceback(None))

    def eval(self, node: ast.expr) -> Any:
        """Evaluate an expression whose value is needed.

        Args:
            node: the expression.

        Returns:
            Plain data, or a symbol.

        Raises:
            RefusedError: when it would have to be executed.

        """
        self.budget.step()
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.refuse(node, f"{type(node).__name__.lower()} {source_text(node)}")
        return handler(self, node)

    def data(self, node: ast.expr) -> Any:
        """Evaluate an expression whose value is looked into.

        Args:
            node: the expression.

        Returns:
            Plain data.

        Raises:
            RefusedError: for a symbol too.

        """
        result = self.eval(node)
        if isinstance(result, Opaque):
            raise result.refusal
        return result

    # Names and parts

    def _name(self, node: ast.Name) -> object:
        for scope in reversed(self._scopes):
            if node.id in scope:
                return self._known(scope[node.id])
        if node.id in self.names:
            return self._known(self.names[node.id])
        if hasattr(builtins, node.id):
            return self.symbol(node, f"builtins.{node.id}")
        raise self.refuse(node, f"the name {node.id!r} is not defined", broken=True)

    @staticmethod
    def _known(value: object) -> object:
        if isinstance(value, Opaque) and not isinstance(value, Symbol):
            raise value.refusal
        return value

    def _attribute(self, node: ast.Attribute) -> object:
        owner = self.eval(node.value)
        if isinstance(owner, Symbol):
            found = f"{owner.dotted}.{node.attr}"
            return Symbol(found, self.refuse(node, f"{found!r}, which is imported from other code"), local=owner.local)
        if isinstance(owner, dict) and node.attr in owner:  # the harness's configuration dicts give keys as attributes
            return self._known(owner[node.attr])
        raise self.refuse(node, f"the attribute {source_text(node)}")

    def _subscript(self, node: ast.Subscript) -> object:
        owner = self.data(node.value)
        return self._known(self.guarded(node, operator.getitem, owner, self.data(node.slice)))

    def _slice(self, node: ast.Slice) -> slice:
        return slice(*(None if part is None else self.data(part) for part in (node.lower, node.upper, node.step)))

    # Displays

    def _elements(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Evaluate the elements of a list, or positional arguments, starred ones included."""
        result: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                result.extend(self.guarded(node, list, self.data(node.value)))
            else:
                result.append(self.value(node))
        self.budget.items(SLOT_CHARS * len(result))
        return result

    def _dict(self, node: ast.Dict) -> dict[object, object]:
        result: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.guarded(node, result.update, self.data(value))
            else:
                name = self.data(key)
                self.guarded(node, result.__setitem__, name, self.value(value))
        self.budget.items(SLOT_CHARS * len(result))
        return result

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> list[object]:
        result: list[object] = []

        def add() -> None:
            self.budget.items(SLOT_CHARS)
            result.append(self.value(node.elt))

        self._each(node.generators, add)
        return result

    def _dict_comprehension(self, node: ast.DictComp) -> dict[object, object]:
        result: dict[object, object] = {}

        def add() -> None:
            self.budget.items(SLOT_CHARS)
            key = self.data(node.key)
            self.guarded(node, result.__setitem__, key, self.value(node.value))

        self._each(node.generators, add)
        return result

    def _each(self, generators: Sequence[ast.comprehension], add: Callable[[], None]) -> None:
        first = self._iterated(generators[0].iter)  # as in Python, outside the scope of the comprehension
        self._scopes.append({})
        try:
            self._nested(generators, first, add)
        finally:
            self._scopes.pop()

    def _nested(self, generators: Sequence[ast.comprehension], items: list[Any], add: Callable[[], None]) -> None:
        head, rest = generators[0], generators[1:]
        for item in items:
            self.budget.step()
            self.assign(head.target, item, self._scopes[-1])
            if all(self._truth(condition) for condition in head.ifs):
                if rest:
                    self._nested(rest, self._iterated(rest[0].iter), add)
                else:
                    add()

    def _iterated(self, node: ast.expr) -> list[Any]:
        """Evaluate what a loop runs over."""
        values = self.data(node)
        result: list[Any] = self.guarded(node, list, values)
        return result

    def _truth(self, node: ast.expr) -> bool:
        """Evaluate a condition."""
        return bool(self.data(node))

    # Operators

    def operate(self, node: ast.AST, kind: type[ast.AST], left: Any, right: Any) -> object:
        """Apply an operator.

        Args:
            node: where it stands.
            kind: the operator's node class.
            left: the left side, or the only one.
            right: the right side.

        Returns:
            The result.

        Raises:
            RefusedError: when it fails, is too large, or the operator is none of data.

        """
        for side in (left, right):
            if isinstance(side, Opaque):
                raise side.refusal
        if kind not in OPERATORS:
            raise self.refuse(node, f"operator {kind.__name__} in {source_text(node)}")
        return self.guarded(node, operate, self.budget, kind, left, right)

    def _binary(self, node: ast.BinOp) -> object:
        return self.operate(node, type(node.op), self.data(node.left), self.data(node.right))

    def _unary(self, node: ast.UnaryOp) -> object:
        return self.operate(node, type(node.op), self.data(node.operand), None)

    def _boolean(self, node: ast.BoolOp) -> object:
        wanted = isinstance(node.op, ast.And)
        result: object = None
        for value in node.values:
            result = self.data(value)
            if bool(result) is not wanted:
                break
        return result

    def _compare(self, node: ast.Compare) -> object:
        left = self.data(node.left)
        result: object = True
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.data(comparator)
            result = self.operate(node, type(operation), left, right)
            if not result:
                break
            left = right
        return result

    def _joined(self, node: ast.JoinedStr) -> str:
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = str(part.value)
            elif isinstance(part, ast.FormattedValue):
                value = self.data(part.value)
                self.guarded(part, self.budget.deep, value)
                spec = "" if part.format_spec is None else str(self.eval(part.format_spec))
                value = self.guarded(part, _CONVERSIONS[part.conversion], value)
                text = self.guarded(part, format_value, value, spec)
            else:
                raise self.refuse(node, f"{type(part).__name__} in an f-string")
            parts.append(text)
        self.guarded(node, self.budget.text, sum(map(len, parts)))
        return "".join(parts)

    # Calls

    def _call(self, node: ast.Call) -> object:
        if isinstance(node.func, ast.Attribute):
            owner = self.eval(node.func.value)
            if not isinstance(owner, Symbol):
                return self._method(node, owner, node.func.attr)
        function = self.eval(node.func)
        if not isinstance(function, Symbol):
            raise self.refuse(node, f"call of {source_text(node.func)}")
        if function.dotted in ("builtins.locals", "builtins.globals") and not self._scopes and not node.args:
            return self.names
        args, kwargs = self._arguments(node, function.dotted in STORING_FUNCTIONS)
        if function.dotted == "builtins.isinstance" and len(args) == 2 and isinstance(args[0], Opaque):
            raise args[0].refusal
        known = None if function.local else FUNCTIONS.get(function.dotted)
        if known is not None:
            return self.guarded(node, known, self.budget, *args, **kwargs)
        # Code of this file may change any of its names, other code what it is handed: then nothing here is certain.
        final = function.local or any(_changeable(a) for a in (*args, *kwargs.values()))
        raise self.refuse(node, f"call of {source_text(node.func)}()", final=final)

    def _method(self, node: ast.Call, owner: Any, name: str) -> object:
        method = METHODS.get(type(owner), {}).get(name)
        if method is None:
            raise self.refuse(node, f"call of {source_text(node.func)}()")
        args, kwargs = self._arguments(node, name in STORING_METHODS)
        if name in ("update", "get", "pop", "setdefault") and args and isinstance(args[0], Opaque):
            raise args[0].refusal
        return self.guarded(node, method, self.budget, owner, *args, **kwargs)

    def _arguments(self, node: ast.Call, storing: bool) -> tuple[list[Any], dict[str, Any]]:
        kwargs: dict[str, Any] = {}
        args = self._elements(node.args)
        for keyword in node.keywords:
            if keyword.arg is None:
                self.guarded(node, kwargs.update, self.data(keyword.value))
            else:
                kwargs[keyword.arg] = self.value(keyword.value)
        if not storing:
            for argument in (*args, *kwargs.values()):
                if isinstance(argument, Opaque) and not isinstance(argument, Symbol):
                    raise argument.refusal
        return args, kwargs

    def _walrus(self, node: ast.NamedExpr) -> object:
        result = self.value(node.value)
        self.assign(node.target, result, self.names)
        return self._known(result)

    def _conditional(self, node: ast.IfExp) -> object:
        return self.eval(node.body if self._truth(node.test) else node.orelse)

    # Targets

    def assign(self, target: ast.expr, value: Any, names: dict[str, object]) -> None:
        """Bind a value to a name, to several, or to a part of data.

        Args:
            target: the left side.
            value: the value, which may be opaque.
            names: where plain names go.

        Raises:
            RefusedError: when the target isn't data.

        """
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, Opaque):
                raise value.refusal
            self._unpack(target, self.guarded(target, list, value), names)
        elif isinstance(target, ast.Subscript):
            owner = self.data(target.value)
            self.guarded(target, operator.setitem, owner, self.data(target.slice), value)
        elif isinstance(target, ast.Attribute) and isinstance(owner := self.data(target.value), dict):
            owner[target.attr] = value
        else:
            raise self.refuse(target, f"assignment to {source_text(target)}", final=True)

    def _unpack(self, target: ast.Tuple | ast.List, values: list[Any], names: dict[str, object]) -> None:
        star = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
        count = len(target.elts)
        if len(values) != count if star is None else len(values) < count - 1:
            raise self.refuse(target, f"{len(values)} values for {count} names", broken=True)
        if star is not None:
            end = len(values) - (count - star - 1)
            values = [*values[:star], values[star:end], *values[end:]]
        for part, value in zip(target.elts, values, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, value, names)


def _changeable(value: object) -> bool:
    return isinstance(value, (list, dict, set)) or (isinstance(value, tuple) and any(map(_changeable, value)))


_HANDLERS: dict[type[ast.AST], Callable[[Expressions, Any], Any]] = {
    ast.Constant: lambda _, node: node.value,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.List: lambda file, node: file._elements(node.elts),
    ast.Tuple: lambda file, node: tuple(file._elements(node.elts)),
    ast.Set: lambda file, node: file.guarded(node, set, file._elements(node.elts)),
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.SetComp: lambda file, node: file.guarded(node, set, file._comprehension(node)),
    ast.DictComp: Expressions._dict_comprehension,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.JoinedStr: Expressions._joined,
    ast.Call: Expressions._call,
    ast.NamedExpr: Expressions._walrus,
    ast.IfExp: Expressions._conditional,
}
