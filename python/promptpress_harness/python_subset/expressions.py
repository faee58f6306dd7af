"""Expressions of a Python configuration, evaluated if they are plain data; attributes and calls among them."""

from __future__ import annotations

import ast
import builtins
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from promptpress_harness.python_subset.calls import (
    CALLABLE,
    CONTAINERS,
    FUNCTIONS,
    INERT_BUILTINS,
    KEEPING_BUILTINS,
    METHODS,
    MUTATING_METHODS,
    TAKE_FUNCTIONS,
    TAKE_KEYS,
)
from promptpress_harness.python_subset.operators import OPERATORS, format_field, operate
from promptpress_harness.python_subset.source import (
    END,
    MISSING,
    UNBOUND,
    Iteration,
    is_harmless,
    is_harmless_text,
    names_read_by,
    source_text,
)
from promptpress_harness.python_subset.values import (
    METHOD_NAMES,
    SLOT_CHARS,
    HarnessDict,
    Opaque,
    Symbol,
    first_opaque,
    is_stream,
)

_UNCHANGING = (type(None), bool, int, float, complex, str, bytes, type(...), range)


class Calls(Iteration):
    """The evaluation of attributes and calls."""

    def attribute_of(self, node: ast.Attribute, owner: Any) -> Any:
        """Return the symbol for an attribute of a symbol, or the value of a key of a harness's dict; refuse others."""
        if isinstance(owner, Symbol) and owner.local is None:
            dotted = f"{owner.dotted}.{node.attr}"
            return Symbol(dotted, self.refuse(node, f"{dotted!r}, which is imported from other code"))
        if isinstance(owner, Opaque):
            return Opaque(owner.refusal, shared=owner.shared or isinstance(owner, Symbol))
        if isinstance(owner, HarnessDict) and node.attr in owner and node.attr not in METHOD_NAMES:
            return owner[node.attr]
        broken = not hasattr(owner, node.attr) and not isinstance(owner, HarnessDict)
        raise self.refuse(node, f"the attribute {source_text(node)}", final=True, broken=broken)

    def _all_of(self, node: ast.expr, value: Any) -> list[Any]:
        iterator = self.iterator(node, value)
        result: list[Any] = []
        while (item := self.next_item(node, iterator)) is not END:
            result.append(item)
        self.budget.items(SLOT_CHARS * len(result))
        return result

    def _elements(self, nodes: Sequence[ast.expr]) -> tuple[list[Any], Opaque | None]:
        """Evaluate elements or positional arguments; also return an opaque value after a `*`."""
        result: list[Any] = []
        hidden: Opaque | None = None
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.eval(node.value)
                if isinstance(value, Opaque):
                    hidden = value
                else:
                    result.extend(self._all_of(node.value, value))
            else:
                result.append(self.eval(node))
        self.budget.items(SLOT_CHARS * len(result))
        return result, hidden

    def call_expression(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            owner = self.eval(node.func.value)
            if not isinstance(owner, Opaque):
                return self._method(node, owner, node.func.attr)
            function = self.attribute_of(node.func, owner)
        else:
            function = self._called(node.func)
        args, kwargs, hidden = self._arguments(node)
        return self.apply(node, function, args, kwargs, hidden)

    def is_annotated(self) -> bool:
        """Return true if the file annotates a name, because `locals()` then has more names; see `Modules`."""
        raise NotImplementedError

    def _called(self, node: ast.expr) -> Any:
        """Evaluate the function of a call; a call of `dict[str, int]` is a call of `dict`."""
        if isinstance(node, ast.Subscript):
            owner = self.eval(node.value)
            parameters = self.eval(node.slice)
            if isinstance(owner, Symbol) and owner.local is None and owner.dotted in CONTAINERS:
                return owner
            hidden = first_opaque((owner, parameters))
            return self.call(node, operator.getitem, (owner, parameters)) if hidden is None else Opaque(hidden.refusal)
        return self.eval(node)

    def apply(
        self, node: ast.expr, function: Any, args: list[Any], kwargs: dict[str, Any], hidden: Opaque | None = None
    ) -> Any:
        """Call a function; the result is opaque for one that isn't computed here.

        `hidden` is an opaque value that the code spreads into the arguments. A function of this file, and one that
        could change the file's data, are refused.
        """
        called = node.func if isinstance(node, ast.Call) else node
        arguments = [*args, *kwargs.values(), *([] if hidden is None else [hidden])]
        if not isinstance(function, Opaque):
            raise self.refuse(node, f"call of {source_text(called)}, which is no function", broken=True)
        if not isinstance(function, Symbol):
            if function.shared or any(map(self._may_change, arguments)):
                raise self.as_final(function.refusal)
            return Opaque(function.refusal, shared=False)
        problem = f"call of {source_text(called)}()"
        dotted, local = function.dotted, function.local is not None
        if not local and dotted in ("builtins.locals", "builtins.globals") and not arguments:
            if dotted == "builtins.locals" and (self.scope.kind != "module" or self.is_annotated()):
                raise self.refuse(node, problem, final=True)
            return self.names
        if not local and dotted in CALLABLE:
            if hidden is not None:
                if any(map(is_stream, arguments)):
                    raise self.as_final(hidden.refusal)
                return Opaque(hidden.refusal)
            return self._computed(node, dotted, args, kwargs)
        inert = dotted.removeprefix("builtins.") in INERT_BUILTINS
        # Code of this file may change any name, and other code any data that it gets. Then the file is refused.
        changes = self._may_change(function) and not (dotted == "builtins.eval" and is_harmless_text(arguments))
        changes = changes or any(map(self._may_change, arguments))
        final = local or (changes and dotted not in KEEPING_BUILTINS)
        if dotted == "builtins.open" and not all(
            isinstance(a, str) and not set(a) & set("wax+") for a in arguments[1:]
        ):
            self.has_written = True
        refusal = self.refuse(node, problem, final=final)
        if final:
            raise refusal
        return Opaque(refusal, shared=False, inert=inert)

    def _computed(self, node: ast.expr, dotted: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function that is computed here; one that calls others gets those that are computed here, too."""
        if dotted in TAKE_FUNCTIONS and args:
            args = [self._function(args[0]), *args[1:]]
            if isinstance(args[0], Opaque):
                return self._mapped(args[0], args[1:])
        if dotted in TAKE_KEYS and "key" in kwargs:
            kwargs = {**kwargs, "key": self._key(kwargs["key"])}
        result = self.call(node, CALLABLE[dotted], (self.budget, *args), kwargs)
        if is_stream(result):
            self.call(node, self.budget.nested, (result, args))
        return result

    def _function(self, value: Any) -> Any:
        """Return the Python function of a symbol, for functions like `sorted` and `map` that call it."""
        function = CALLABLE.get(value.dotted) if isinstance(value, Symbol) and value.local is None else None
        return value if function is None else functools.partial(function, self.budget)

    def _mapped(self, function: Opaque, iterables: Sequence[Any]) -> Opaque:
        """Return an opaque value for what other code makes of elements, or refuse code that could change something."""
        is_inert = not self._may_change(function) if isinstance(function, Symbol) else function.inert
        for values in iterables:
            is_known = isinstance(values, (str, list, tuple, range, dict, set, frozenset))
            if not (is_inert and is_known) or any(map(self._may_change, values)):
                raise self.as_final(function.refusal)
        return Opaque(function.refusal, shared=False)

    def _key(self, value: Any) -> Any:
        """Return the function of a sort key, or refuse one that could change something."""
        function = self._function(value)
        if isinstance(function, Opaque) and (isinstance(function, Symbol) or not function.inert):
            raise self.as_final(function.refusal)
        return function

    def _may_change(self, value: object) -> bool:
        """Return true if code that gets a value could change data of this file through it."""
        if isinstance(value, _UNCHANGING):
            return False
        if isinstance(value, (tuple, frozenset)):
            # A tuple that occurs several times is examined once.
            todo, parts = [value], {}
            while todo:
                for part in todo.pop():
                    if id(part) not in parts:
                        parts[id(part)] = part
                        if isinstance(part, (tuple, frozenset)):
                            todo.append(part)
            return any(self._may_change(part) for part in parts.values() if not isinstance(part, (tuple, frozenset)))
        if isinstance(value, Symbol):
            if value.local is not None:
                return self._function_may_change(value, set())
            name = value.dotted.removeprefix("builtins.")
            return (
                name != value.dotted and "." not in name and value.dotted not in FUNCTIONS and _builtin_may_change(name)
            )
        return not isinstance(value, Opaque) or value.shared

    def _function_may_change(self, symbol: Symbol, seen: set[str]) -> bool:
        """Return true if a function of this file could change the file's data."""
        assert symbol.local is not None
        names = names_read_by(symbol.local)
        if names is None:
            return True
        for name in names - seen:
            seen.add(name)
            value = self.names.get(name, MISSING)
            if value is MISSING:
                if hasattr(builtins, name) and _builtin_may_change(name):
                    return True
            elif isinstance(value, Symbol) and value.local is not None:
                if self._function_may_change(value, seen):
                    return True
            elif self._may_change(value):
                return True
        return False

    def _method(self, node: ast.Call, owner: Any, name: str) -> Any:
        method = METHODS.get(type(owner), {}).get(name)
        if method is None:
            broken = not hasattr(owner, name) and not isinstance(owner, HarnessDict)
            raise self.refuse(node, f"call of {source_text(node.func)}()", final=True, broken=broken)
        args, kwargs, hidden = self._arguments(node)
        changes = name in MUTATING_METHODS and not isinstance(owner, str)
        if hidden is not None:
            if changes or any(map(is_stream, (owner, *args))):
                raise self.as_final(hidden.refusal)
            return Opaque(hidden.refusal)
        if name == "sort" and "key" in kwargs:
            kwargs = {**kwargs, "key": self._key(kwargs["key"])}
        return self.call(node, method, (self.budget, owner, *args), kwargs, changes=changes)

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any], Opaque | None]:
        kwargs: dict[str, Any] = {}
        args, hidden = self._elements(node.args)
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is None and isinstance(value, Opaque):
                hidden = value
            else:
                more = {keyword.arg: value} if keyword.arg is not None else self.call(node, as_mapping, (value,))
                if twice := kwargs.keys() & more.keys():
                    problem = f"{source_text(node)} has the argument {min(map(str, twice))!r} twice"
                    raise self.refuse(node, problem, broken=True)
                kwargs.update(more)
        return args, kwargs, hidden


def as_mapping(value: Any) -> dict[Any, Any]:
    """Copy the operand of `**`, or raise a TypeError if it is no dict."""
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__!r} object is not a mapping")
    return dict(value)


def _builtin_may_change(builtin: str) -> bool:
    """Return true if a builtin that isn't computed here could change the file's data: `exec`, `setattr`, `vars`."""
    if builtin in INERT_BUILTINS or f"builtins.{builtin}" in FUNCTIONS:
        return False
    value = getattr(builtins, builtin, None)
    return callable(value) and not (isinstance(value, type) and issubclass(value, BaseException))


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
        """Evaluate an expression to plain data, an iterator over data, or an opaque value."""
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
