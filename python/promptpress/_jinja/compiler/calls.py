"""Calls, attributes and methods: compiled for texts, lists and dicts of the row; otherwise Jinja's own code runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from jinja2 import nodes
from jinja2.compiler import Frame
from jinja2.runtime import Macro
from jinja2.sandbox import modifies_known_mutable
from jinja2.utils import Namespace

from promptpress._jinja.compiler.equality import contains
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.operands import TEXTS
from promptpress._jinja.compiler.scope import Scope
from promptpress._jinja.compiler.values import Kind, Sym, is_opaque
from promptpress._jinja.sandbox.bounds import charge_text

_ATTRIBUTES = frozenset(name for kind in (str, list, dict, int, float, bool, type(None)) for name in dir(kind))
"""Names that may be methods, depending on the type of the value."""

_STATEFUL = frozenset({"Cycler", "Joiner", "LoopContext"})


class Evaluator(Protocol):
    """The part of `Expressions` that calls, filters and tests use."""

    context: Any
    environment: Any
    machine: Machine
    scope: Scope

    def arguments(self, node: Any, frame: Frame) -> tuple[list[Any], dict[str, Any]]: ...
    def attribute(self, value: Any, name: str) -> Any: ...
    def compare(self, operator: str, left: Any, right: Any) -> Any: ...
    def evaluate(self, node: nodes.Node, frame: Frame) -> Any: ...
    def item(self, value: Any, key: Any) -> Any: ...


def attribute(expressions: Evaluator, value: Any, name: str) -> Any:
    """Return `value.name` for a value of the row that isn't called.

    Raises:
        UnsupportedError: If it may be a method.
    """
    machine = expressions.machine
    if type(value) is not Sym:
        raise machine.unsupported("an attribute of a safe text of the row")
    if name in _attributes_of(value.kind):
        raise machine.unsupported(f"the method `{name}` of a value of the row isn't called")
    return field(expressions, value, name)


def field(expressions: Evaluator, value: Sym, name: str) -> Any:
    """Return a dict's value, or an undefined value if the dict surely has no such key."""
    machine = expressions.machine
    if value.kind.only("dict", "none") and value.kind.of_field(name) is None:
        # None has no such key either.
        return expressions.environment.undefined(obj={}, name=name)
    if value.kind.only("str") and not hasattr("", name):
        return expressions.environment.undefined(obj="", name=name)
    if value.kind.never("dict"):
        raise machine.unsupported(f"`{name}` of a value of the row that is no dict")
    return machine.operate("item", value, name)


def call(expressions: Evaluator, node: nodes.Call, frame: Frame, caller: Any) -> Any:
    """Evaluate a call; `caller` is the macro of a call block."""
    machine = expressions.machine
    target = node.node
    if isinstance(target, nodes.Getattr):
        receiver = expressions.evaluate(target.node, frame)
        positional, named = _arguments(expressions, node, frame, caller)
        return machine.lift_call(partial(_method, expressions, target.attr), receiver, positional, named)
    function = expressions.evaluate(target, frame)
    positional, named = _arguments(expressions, node, frame, caller)
    return machine.lift(lambda function: _called(expressions, function, positional, named), function)


def _arguments(expressions: Evaluator, node: nodes.Call, frame: Frame, caller: Any) -> tuple[list[Any], dict[str, Any]]:
    positional, named = expressions.arguments(node, frame)
    if caller is not None:
        named["caller"] = caller
    return positional, named


def _called(expressions: Evaluator, function: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    if is_opaque(function):
        raise machine.unsupported("a value of the row is called")
    if isinstance(function, type) and issubclass(function, Namespace):
        values = machine.real(dict, *positional, **named)
        return expressions.scope.namespace(values)
    owner = getattr(function, "__self__", None)
    stateful = type(function).__name__ in _STATEFUL or type(owner).__name__ in _STATEFUL
    if stateful and machine.forks and getattr(function, "__name__", "") != "cycle":
        raise machine.unsupported("what remembers its calls is called where a value of the row decides whether")
    if type(function) is Macro:
        # The macro's own code binds the arguments; its function evaluates the body here.
        return machine.real(expressions.environment.call, expressions.context, function, *positional, **named)
    if owner is not None and modifies_known_mutable(owner, function.__name__):
        raise machine.unsupported(f"`{function.__name__}` changes a list or dict")
    if function is expressions.environment.globals.get("lipsum"):
        raise machine.unsupported("`lipsum` is made of chance")
    if function is expressions.environment.globals.get("range"):
        # A program is made for the number of a loop's items.
        positional = [machine.number(value) if type(value) is Sym else value for value in positional]
    return machine.real(expressions.environment.call, expressions.context, function, *positional, **named)


def _method(expressions: Evaluator, name: str, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    symbolic = type(receiver) is Sym
    opaque = any(map(is_opaque, (*positional, *named.values())))
    is_get = type(receiver) is dict and name == "get" and not named and len(positional) in (1, 2)
    if is_get and is_opaque(positional[0]):
        return _get_by_key(expressions, receiver, *positional)
    if type(receiver) in (list, tuple) and name in ("index", "count") and (opaque or any(map(is_opaque, receiver))):
        return _METHODS[name](expressions, list(receiver), positional, named)
    is_known_text = type(receiver) in TEXTS
    if not symbolic and not (is_known_text and opaque):
        if name == "join" and is_known_text and len(positional) == 1 and not named:
            return _joined(expressions, receiver, positional[0])
        function = expressions.attribute(receiver, name)
        return machine.lift(lambda function: _called(expressions, function, positional, named), function)
    if symbolic and name not in _attributes_of(receiver.kind):
        raise machine.unsupported(f"`{name}` of a value of the row is called")
    compiled = _METHODS.get(name)
    if compiled is None:
        raise machine.unsupported(f"the method `{name}` of a value of the row")
    return compiled(expressions, receiver, positional, named)


def _attributes_of(kind: Kind) -> frozenset[str] | set[str]:
    if kind.names is None:
        return _ATTRIBUTES
    types = {"str": str, "list": list, "dict": dict, "int": int, "float": float, "bool": bool, "none": type(None)}
    if not kind.names <= set(types):
        return _ATTRIBUTES
    return {attribute for name in kind.names for attribute in dir(types[name])}


# Methods


def _of_text(operation: str, *defaults: Any, names: tuple[str, ...] = (), required: int = 0) -> Any:
    """Make a method of texts that is an operation with these operands."""

    def method(expressions: Evaluator, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        operands = list(positional)
        if len(operands) > len(defaults) or (len(operands) < required and not named):
            raise machine.unsupported(f"`{operation}` with {len(operands)} arguments")
        for index, default in enumerate(defaults[len(operands) :], len(operands)):
            operands.append(named.pop(names[index], default) if index < len(names) else default)
        if named:
            raise machine.unsupported(f"`{operation}` with the argument `{next(iter(named))}`")
        return machine.operate(operation, receiver, *operands)

    return method


def _affix(operation: str) -> Any:
    def method(expressions: Evaluator, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        if named or len(positional) != 1:
            raise machine.unsupported(f"`{operation}` of a part")
        affixes = positional[0]
        if type(affixes) is list:
            raise machine.unsupported(f"`{operation}` of a list")  # Python raises a TypeError; for a tuple it doesn't
        if type(affixes) is Sym and not affixes.kind.never("list"):
            raise machine.unsupported(f"`{operation}` of a value of the row that may be a list")
        return machine.operate(operation, receiver, list(affixes) if type(affixes) is tuple else affixes)

    return method


def _joined(expressions: Evaluator, separator: Any, items: Any) -> Any:
    """Return `separator.join(items)`."""
    machine = expressions.machine
    if type(items) is Sym:
        return machine.operate("join", separator, items)
    if type(separator) not in TEXTS or is_opaque(items):
        raise machine.unsupported("a join that the row decides")
    values = machine.real(list, items)
    if not any(map(is_opaque, values)):
        machine.real(charge_text, sum(len(value) if type(value) in TEXTS else 1 for value in values))
        machine.real(charge_text, len(separator) * len(values))
        return machine.real(expressions.environment.call, expressions.context, separator.join, values)
    parts: list[Any] = []
    for number, value in enumerate(values):
        if type(value) is not Sym and type(value) not in TEXTS:
            raise machine.unsupported("a join of what are no texts")
        # Python raises for a value that isn't a text; a concatenation bails.
        parts += [separator, value] if number else [value]
    return machine.concat(parts)


def _join(expressions: Evaluator, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    if named or len(positional) != 1:
        raise expressions.machine.unsupported("`join` of several")
    return _joined(expressions, receiver, positional[0])


def _get(expressions: Evaluator, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    if named or not positional or len(positional) > 2 or type(positional[0]) not in TEXTS or type(receiver) is not Sym:
        raise machine.unsupported("`get` of a value of the row")
    if receiver.kind.known_fields is None:
        raise machine.unsupported("`get` of a value of the row whose keys aren't known")
    machine.operate("length", receiver)  # None has no methods
    if receiver.kind.of_field(positional[0]) is None:
        return positional[1] if len(positional) > 1 else None
    return machine.operate("item", receiver, positional[0])


def _get_by_key(expressions: Evaluator, receiver: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """Return the value of a known dict for a key of the row."""
    machine = expressions.machine
    condition = machine.condition(contains(machine, receiver, key))
    return machine.branch(condition, lambda: expressions.item(receiver, key), lambda: default)


def _fields(part: str) -> Any:
    def method(expressions: Evaluator, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        fields = receiver.kind.known_fields if type(receiver) is Sym and not positional and not named else None
        if fields is None:
            raise machine.unsupported(f"`{part}` of a value of the row whose keys aren't known")
        machine.operate("length", receiver)  # None has no methods
        pairs = {name: machine.operate("item", receiver, name) for name, _ in fields}
        return getattr(pairs, part)()

    return method


def _search(operation: str) -> Any:
    def method(expressions: Evaluator, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        if named or len(positional) != 1:
            raise machine.unsupported(f"`{operation}` within bounds")
        return machine.operate(operation, receiver, positional[0])

    return method


def expanded(expressions: Evaluator, value: Any) -> Any:
    """Return a list of the row as a list of its items; return any other value as it is.

    Raises:
        NeedsKeyError: If the length isn't known yet.
    """
    machine = expressions.machine
    if type(value) is not Sym:
        return value
    if value.kind.known_fields is not None:
        machine.operate("length", value)  # None has no fields
        return [name for name, _ in value.kind.known_fields]
    name, *operands = machine.builder.nodes[value.node]
    if name == "list":
        return [machine.builder.sym(operand) for operand in operands]
    if not value.kind.only("list", "none") and machine.assumed_key is None:
        raise machine.unsupported("a loop over a value of the row that may be no list")
    return [machine.operate("item", value, index) for index in range(machine.length(value))]


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _of_text(name, None) for name in ("strip", "lstrip", "rstrip")},
    **{name: _of_text(name, None, -1, names=("sep", "maxsplit")) for name in ("split", "rsplit")},
    **{
        name: _of_text(name) for name in ("lower", "upper", "title", "capitalize", "swapcase", "casefold", "splitlines")
    },
    "replace": _of_text("replace", None, None, -1, required=2),
    **{name: _affix(name) for name in ("startswith", "endswith")},
    "join": _join,
    "get": _get,
    **{name: _fields(name) for name in ("items", "keys", "values")},
    **{name: _search(name) for name in ("index", "find", "rfind", "count")},
}
