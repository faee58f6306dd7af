"""Calls, attributes and methods: compiled for texts, lists and dicts of the row; otherwise Jinja's own code runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jinja2 import nodes
from jinja2.compiler import Frame
from jinja2.runtime import Macro
from jinja2.sandbox import modifies_known_mutable
from jinja2.utils import Namespace

from promptpress._jinja.compiler import filters, formats
from promptpress._jinja.compiler.expressions import Expressions, contains
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.operands import SCALARS, TEXTS
from promptpress._jinja.compiler.values import Kind, MarkedSafe, Sym, is_opaque
from promptpress._jinja.sandbox.bounds import charge_text
from promptpress._jinja.traced_values import plain

_ATTRIBUTES = frozenset(name for kind in (str, list, dict, int, float, bool, type(None)) for name in dir(kind))
"""Names that may be methods, depending on the type of the value."""

_STATEFUL = frozenset({"Cycler", "Joiner", "LoopContext"})


class Evaluator(Expressions):
    """Evaluates all expressions: also parts of values, filters, tests and calls."""

    # Parts

    def _getattr(self, node: nodes.Getattr, frame: Frame) -> Any:
        value = self.evaluate(node.node, frame)
        return self.machine.lift(lambda value: self.attribute(value, node.attr), value)

    def attribute(self, value: Any, name: str) -> Any:
        """Return `value.name`, if it isn't called."""
        if not is_opaque(value):
            return self.scope.attribute(value, name)
        if type(value) is not Sym:
            raise self.machine.unsupported("an attribute of a safe text of the row")
        if name in _attributes_of(value.kind):
            raise self.machine.unsupported(f"the method `{name}` of a value of the row isn't called")
        return self._field(value, name)

    def _field(self, value: Sym, name: str) -> Any:
        """Return a dict's value, or an undefined value if the dict surely has no such key."""
        if value.kind.only("dict", "none") and value.kind.of_field(name) is None:
            # None has no such key either.
            return self.machine.environment.undefined(obj={}, name=name)
        if value.kind.only("str") and not hasattr("", name):
            return self.machine.environment.undefined(obj="", name=name)
        if value.kind.never("dict"):
            raise self.machine.unsupported(f"`{name}` of a value of the row that is no dict")
        return self.machine.operate("item", value, name)

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
            return self.machine.real(lambda: self.machine.environment.measured(value[slice(*bounds)]))
        if type(value) is Sym or type(value) in (*TEXTS, list):
            return self.machine.operate("slice", value, *bounds)
        raise self.machine.unsupported(f"a slice of a {type(value).__name__} that the row decides")

    def item(self, value: Any, key: Any) -> Any:
        """Return `value[key]`."""
        machine = self.machine
        if not is_opaque(value) and not is_opaque(key):
            machine.weigh(key)
            return machine.real(self.machine.environment.getitem, value, key)
        if type(value) is dict and type(key) is Sym:
            return self._value_of_key(value, key)
        if MarkedSafe in (type(value), type(key)):
            raise machine.unsupported("a part of a safe text of the row")
        if type(value) is Sym and type(key) in TEXTS:
            return self._field(value, plain(key))
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

    def _filter(self, node: nodes.Filter, frame: Frame) -> Any:
        assert node.node is not None
        return self.filtered(node, self.evaluate(node.node, frame), frame)

    def filtered(self, node: nodes.Filter, value: Any, frame: Frame) -> Any:
        """Apply a filter to a value."""
        positional, named = self.arguments(node, frame)
        return self.machine.lift_call(partial(filters.apply_filter, self.machine, node.name), value, positional, named)

    def _test(self, node: nodes.Test, frame: Frame) -> Any:
        value = self.evaluate(node.node, frame)
        positional, named = self.arguments(node, frame)

        def apply(value: Any, *arguments: Any) -> Any:
            return filters.apply_test(self.machine, node.name, value, list(arguments), named)

        return self.machine.lift(apply, value, *positional)

    def _call(self, node: nodes.Call, frame: Frame) -> Any:
        return self.call(node, frame)

    def call(self, node: nodes.Call, frame: Frame, caller: Macro | None = None) -> Any:
        """Evaluate a call; `caller` is the macro of a call block."""
        target = node.node
        receiver = self.evaluate(target.node if isinstance(target, nodes.Getattr) else target, frame)
        positional, named = self.arguments(node, frame)
        if caller is not None:
            named["caller"] = caller
        if isinstance(target, nodes.Getattr):
            return self.machine.lift_call(partial(_method, self, target.attr), receiver, positional, named)
        return self.machine.lift(lambda function: _called(self, function, positional, named), receiver)


def _called(expressions: Evaluator, function: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    if is_opaque(function):
        raise machine.unsupported("a value of the row is called")
    if isinstance(function, type) and issubclass(function, Namespace):
        values = machine.real(dict, *positional, **named)
        return expressions.scope.namespace(values)
    owner = getattr(function, "__self__", None)
    stateful = type(function).__name__ in _STATEFUL or type(owner).__name__ in _STATEFUL
    if stateful and (machine.forks or machine.is_testing) and getattr(function, "__name__", "") != "cycle":
        raise machine.unsupported("what remembers its calls is called where a value of the row decides whether")
    if type(function) is Macro:
        # The macro's own code binds the arguments; its function evaluates the body here.
        return machine.real(machine.environment.call, machine.context, function, *positional, **named)
    if owner is not None and modifies_known_mutable(owner, function.__name__):
        raise machine.unsupported(f"`{function.__name__}` changes a list or dict")
    if function is machine.environment.globals.get("lipsum"):
        raise machine.unsupported("`lipsum` is made of chance")
    if function is machine.environment.globals.get("range"):
        # A program is made for the number of a loop's items.
        positional = [machine.number(value) if type(value) is Sym else value for value in positional]
    return machine.real(machine.environment.call, machine.context, function, *positional, **named)


def _method(expressions: Evaluator, name: str, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    symbolic = type(receiver) is Sym
    opaque = any(map(is_opaque, (*positional, *named.values())))
    is_get = type(receiver) is dict and name == "get" and not named and len(positional) in (1, 2)
    if is_get and is_opaque(positional[0]):
        return _get_by_key(expressions, receiver, *positional)
    if type(receiver) in (list, tuple) and name in ("index", "count") and (opaque or any(map(is_opaque, receiver))):
        return machine.bound(f"the method `{name}`", _METHODS[name], machine, list(receiver), *positional, **named)
    is_known_text = type(receiver) in TEXTS
    if not symbolic and not (is_known_text and opaque):
        if name == "join" and is_known_text and len(positional) == 1 and not named:
            return _joined(machine, receiver, positional[0])
        function = expressions.attribute(receiver, name)
        return machine.lift(lambda function: _called(expressions, function, positional, named), function)
    if symbolic and name not in _attributes_of(receiver.kind):
        raise machine.unsupported(f"`{name}` of a value of the row is called")
    compiled = _METHODS.get(name)
    if compiled is None:
        raise machine.unsupported(f"the method `{name}` of a value of the row")
    return machine.bound(f"the method `{name}`", compiled, machine, receiver, *positional, **named)


def _attributes_of(kind: Kind) -> frozenset[str] | set[str]:
    if kind.names is None:
        return _ATTRIBUTES
    types = {"str": str, "list": list, "dict": dict, "int": int, "float": float, "bool": bool, "none": type(None)}
    if not kind.names <= set(types):
        return _ATTRIBUTES
    return {attribute for name in kind.names for attribute in dir(types[name])}


# Methods


_OPERANDS: dict[str, Callable[..., tuple[Any, ...]]] = {
    **dict.fromkeys(["strip", "lstrip", "rstrip"], lambda chars=None, /: (chars,)),
    **dict.fromkeys(["split", "rsplit"], lambda sep=None, maxsplit=-1: (sep, maxsplit)),
    **dict.fromkeys(["lower", "upper", "title", "capitalize", "swapcase", "casefold", "splitlines"], lambda: ()),
    "replace": lambda old, new, count=-1, /: (old, new, count),
    **dict.fromkeys(["index", "find", "rfind", "count"], lambda part, /: (part,)),
}
"""The operands of methods that are operations of the same name."""


def _operation(name: str) -> Callable[..., Any]:
    def method(machine: Machine, receiver: Any, /, *positional: Any, **named: Any) -> Any:
        return machine.operate(name, receiver, *_OPERANDS[name](*positional, **named))

    return method


def _affix(operation: str) -> Callable[..., Any]:
    def method(machine: Machine, receiver: Any, affixes: Any, /) -> Any:
        if type(affixes) is list:
            raise machine.unsupported(f"`{operation}` of a list")  # Python raises a TypeError; for a tuple it doesn't
        if type(affixes) is Sym and not affixes.kind.never("list"):
            raise machine.unsupported(f"`{operation}` of a value of the row that may be a list")
        return machine.operate(operation, receiver, list(affixes) if type(affixes) is tuple else affixes)

    return method


def _joined(machine: Machine, separator: Any, items: Any, /) -> Any:
    """Return `separator.join(items)`."""
    if type(items) is Sym:
        return machine.operate("join", separator, items)
    if type(separator) not in TEXTS or is_opaque(items):
        raise machine.unsupported("a join that the row decides")
    values = machine.real(list, items)
    if not any(map(is_opaque, values)):
        machine.real(charge_text, sum(len(value) if type(value) in TEXTS else 1 for value in values))
        machine.real(charge_text, len(separator) * len(values))
        return machine.real(machine.environment.call, machine.context, separator.join, values)
    parts: list[Any] = []
    for number, value in enumerate(values):
        if type(value) is not Sym and type(value) not in TEXTS:
            raise machine.unsupported("a join of what are no texts")
        # Python raises for a value that isn't a text; a concatenation bails.
        parts += [separator, value] if number else [value]
    return machine.concat(parts)


def _get(machine: Machine, receiver: Any, key: Any, default: Any = None, /) -> Any:
    if type(key) not in TEXTS or type(receiver) is not Sym or receiver.kind.known_fields is None:
        raise machine.unsupported("`get` of a value of the row whose keys aren't known")
    machine.operate("length", receiver)  # None has no methods
    return default if receiver.kind.of_field(key) is None else machine.operate("item", receiver, key)


def _get_by_key(expressions: Evaluator, receiver: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """Return the value of a known dict for a key of the row."""
    machine = expressions.machine
    condition = machine.condition(contains(machine, receiver, key))
    return machine.branch(condition, lambda: expressions.item(receiver, key), lambda: default)


def _fields(part: str) -> Callable[..., Any]:
    def method(machine: Machine, receiver: Any, /) -> Any:
        fields = receiver.kind.known_fields if type(receiver) is Sym else None
        if fields is None:
            raise machine.unsupported(f"`{part}` of a value of the row whose keys aren't known")
        machine.operate("length", receiver)  # None has no methods
        pairs = {name: machine.operate("item", receiver, name) for name, _ in fields}
        return getattr(pairs, part)()

    return method


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _operation(name) for name in _OPERANDS},
    **{name: _affix(name) for name in ("startswith", "endswith")},
    "join": _joined,
    "format": formats.str_format,
    **{side: filters.justified(side) for side in ("center", "ljust", "rjust")},
    "get": _get,
    **{name: _fields(name) for name in ("items", "keys", "values")},
}
