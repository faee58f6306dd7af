"""Calls, attributes and methods: of values of the row what is known of texts, lists and dicts; else Jinja's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.runtime import Macro
from jinja2.sandbox import modifies_known_mutable
from jinja2.utils import Namespace

from promptpress._jinja.bounds import charge_text
from promptpress._jinja.partial.equality import contains
from promptpress._jinja.partial.values import Kind, Sym, is_opaque

if TYPE_CHECKING:
    from jinja2.compiler import Frame

    from promptpress._jinja.partial.expressions import Expressions

__all__ = ["attribute", "call", "expanded", "field"]

_ATTRIBUTES = frozenset(name for kind in (str, list, dict, int, float, bool, type(None)) for name in dir(kind))
"""A name among these may be a method; which one, the type of the value says."""

_STATEFUL = frozenset({"Cycler", "Joiner", "LoopContext"})


def attribute(expressions: Expressions, value: Any, name: str) -> Any:
    """`value.name` of a value of the row, where it isn't called.

    Args:
        expressions: What evaluates.
        value: The value.
        name: The attribute's.

    Returns:
        The attribute.

    Raises:
        UnsupportedError: Where it may be a method.

    """
    machine = expressions.machine
    if type(value) is not Sym:
        raise machine.unsupported("an attribute of a safe text of the row")
    own = _attributes_of(value.kind)
    if name in own:
        raise machine.unsupported(f"the method `{name}` of a value of the row isn't called")
    return field(expressions, value, name)


def field(expressions: Expressions, value: Sym, name: str) -> Any:
    """A dict's value.

    Args:
        expressions: What evaluates.
        value: The dict, a value of the row.
        name: The key.

    Returns:
        The value; undefined where the dict surely has none.

    """
    machine = expressions.machine
    if value.kind.only("dict", "none") and value.kind.of_field(name) is None:
        # A null has none either.
        return expressions.environment.undefined(obj={}, name=name)
    if value.kind.only("str") and not hasattr("", name):
        return expressions.environment.undefined(obj="", name=name)
    if value.kind.never("dict"):
        raise machine.unsupported(f"`{name}` of a value of the row that is no dict")
    return machine.operate("item", value, name)


def call(expressions: Expressions, node: nodes.Call, frame: Frame, caller: Any) -> Any:
    """A call.

    Args:
        expressions: What evaluates.
        node: The call.
        frame: Jinja's.
        caller: The macro of a call block.

    Returns:
        What is returned.

    """
    machine = expressions.machine
    target = node.node
    if isinstance(target, nodes.Getattr):
        receiver = expressions.evaluate(target.node, frame)
        positional, named = _arguments(expressions, node, frame, caller)
        names = list(named)

        def method(receiver: Any, *rest: Any) -> Any:
            split = len(rest) - len(names)
            keyed = dict(zip(names, rest[split:], strict=True))
            return _method(expressions, receiver, target.attr, list(rest[:split]), keyed)

        return machine.lift(method, receiver, *positional, *named.values())
    function = expressions.evaluate(target, frame)
    positional, named = _arguments(expressions, node, frame, caller)
    return machine.lift(lambda one: _called(expressions, one, positional, named), function)


def _arguments(
    expressions: Expressions, node: nodes.Call, frame: Frame, caller: Any
) -> tuple[list[Any], dict[str, Any]]:
    positional, named = expressions.arguments(node, frame)
    if caller is not None:
        named["caller"] = caller
    return positional, named


def _called(expressions: Expressions, function: Any, positional: list[Any], named: dict[str, Any]) -> Any:
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
        # The macro's own code binds the arguments; it is a function here that evaluates the body.
        return machine.real(expressions.environment.call, expressions.context, function, *positional, **named)
    if owner is not None and modifies_known_mutable(owner, function.__name__):
        raise machine.unsupported(f"`{function.__name__}` changes a list or dict")
    if function is expressions.environment.globals.get("lipsum"):
        raise machine.unsupported("`lipsum` is made of chance")
    if function is expressions.environment.globals.get("range"):
        # How often a loop runs is what a program is made for.
        positional = [machine.number(one) if type(one) is Sym else one for one in positional]
    return machine.real(expressions.environment.call, expressions.context, function, *positional, **named)


def _method(expressions: Expressions, receiver: Any, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    symbolic = type(receiver) is Sym
    opaque = any(map(is_opaque, (*positional, *named.values())))
    if (
        type(receiver) is dict
        and name == "get"
        and not named
        and len(positional) in (1, 2)
        and is_opaque(positional[0])
    ):
        return _get_by_key(expressions, receiver, *positional)
    if type(receiver) in (list, tuple) and name in ("index", "count") and (opaque or any(map(is_opaque, receiver))):
        return _METHODS[name](expressions, list(receiver), positional, named)
    if not symbolic and not (type(receiver) is str and opaque):
        if name == "join" and type(receiver) is str and len(positional) == 1 and not named:
            return _joined(expressions, receiver, positional[0])
        function = expressions.attribute(receiver, name)
        return machine.lift(lambda one: _called(expressions, one, positional, named), function)
    if symbolic and name not in _attributes_of(receiver.kind):
        raise machine.unsupported(f"`{name}` of a value of the row is called")
    known = _METHODS.get(name)
    if known is None:
        raise machine.unsupported(f"the method `{name}` of a value of the row")
    return known(expressions, receiver, positional, named)


def _attributes_of(kind: Kind) -> frozenset[str] | set[str]:
    if kind.names is None:
        return _ATTRIBUTES
    types = {"str": str, "list": list, "dict": dict, "int": int, "float": float, "bool": bool, "none": type(None)}
    if not kind.names <= set(types):
        return _ATTRIBUTES
    return {attribute for name in kind.names for attribute in dir(types[name])}


# Methods


def _of_text(operation: str, *defaults: Any, names: tuple[str, ...] = (), required: int = 0) -> Any:
    """A method of texts that is an operation with these operands."""

    def method(expressions: Expressions, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        operands = list(positional)
        if len(operands) > len(defaults) or (len(operands) < required and not named):
            raise machine.unsupported(f"`{operation}` with {len(operands)} arguments")
        for place, default in enumerate(defaults):
            if place < len(operands):
                continue
            operands.append(named.pop(names[place], default) if place < len(names) else default)
        if named:
            raise machine.unsupported(f"`{operation}` with the argument `{next(iter(named))}`")
        return machine.operate(operation, receiver, *operands)

    return method


def _affix(operation: str) -> Any:
    def method(expressions: Expressions, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        if named or len(positional) != 1:
            raise machine.unsupported(f"`{operation}` of a part")
        affixes = positional[0]
        if type(affixes) is list:
            raise machine.unsupported(f"`{operation}` of a list")  # a TypeError in Python; a tuple isn't
        if type(affixes) is Sym and not affixes.kind.never("list"):
            raise machine.unsupported(f"`{operation}` of a value of the row that may be a list")
        return machine.operate(operation, receiver, list(affixes) if type(affixes) is tuple else affixes)

    return method


def _joined(expressions: Expressions, separator: Any, items: Any) -> Any:
    """`separator.join(items)`."""
    machine = expressions.machine
    if type(items) is Sym:
        return machine.operate("join", separator, items)
    if type(separator) is not str or is_opaque(items):
        raise machine.unsupported("a join that the row decides")
    values = machine.real(list, items)
    if not any(map(is_opaque, values)):
        machine.real(charge_text, sum(len(value) if type(value) is str else 1 for value in values))
        machine.real(charge_text, len(separator) * len(values))
        return machine.real(separator.join, values)
    parts: list[Any] = []
    for number, value in enumerate(values):
        if type(value) is not Sym and type(value) is not str:
            raise machine.unsupported("a join of what are no texts")
        # What isn't a text raises, where a concatenation bails.
        parts += [separator, value] if number else [value]
    return machine.concat(parts)


def _join(expressions: Expressions, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    if named or len(positional) != 1:
        raise expressions.machine.unsupported("`join` of several")
    return _joined(expressions, receiver, positional[0])


def _get(expressions: Expressions, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    machine = expressions.machine
    if named or not positional or len(positional) > 2 or type(positional[0]) is not str or type(receiver) is not Sym:
        raise machine.unsupported("`get` of a value of the row")
    if not receiver.kind.only("dict", "none") or receiver.kind.fields is None:
        raise machine.unsupported("`get` of a value of the row whose keys aren't known")
    machine.operate("length", receiver)  # a null has no methods
    if receiver.kind.of_field(positional[0]) is None:
        return positional[1] if len(positional) > 1 else None
    return machine.operate("item", receiver, positional[0])


def _get_by_key(expressions: Expressions, receiver: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """`get` of a dict that is there, by a key of the row."""
    machine = expressions.machine
    found = machine.condition(contains(machine, receiver, key))
    return machine.branch(found, lambda: expressions.item(receiver, key), lambda: default)


def _fields(part: str) -> Any:
    def method(expressions: Expressions, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        if positional or named or type(receiver) is not Sym or not receiver.kind.only("dict", "none"):
            raise machine.unsupported(f"`{part}` of a value of the row whose keys aren't known")
        fields = receiver.kind.fields
        if fields is None:
            raise machine.unsupported(f"`{part}` of a value of the row whose keys aren't known")
        machine.operate("length", receiver)  # a null has no methods
        pairs = {name: machine.operate("item", receiver, name) for name, _ in fields}
        return getattr(pairs, part)()

    return method


def _place(operation: str) -> Any:
    def method(expressions: Expressions, receiver: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        machine = expressions.machine
        if named or len(positional) != 1:
            raise machine.unsupported(f"`{operation}` within bounds")
        return machine.operate(operation, receiver, positional[0])

    return method


def expanded(expressions: Expressions, value: Any) -> Any:
    """A list of the row as a list of its items, of which the program knows how many there are.

    Args:
        expressions: What evaluates.
        value: Any; what is no list of the row is returned as it is.

    Returns:
        The items.

    Raises:
        NeedsKeyError: If the length isn't known yet.

    """
    machine = expressions.machine
    if type(value) is not Sym:
        return value
    if value.kind.only("dict", "none") and value.kind.fields is not None:
        machine.operate("length", value)  # a null has no fields
        return [name for name, _ in value.kind.fields]
    made = machine.builder.nodes[value.node]
    if made[0] == "list":
        return [Sym(item, machine.builder.kinds[item]) for item in made[1:]]
    if not value.kind.only("list", "none") and machine.assumed_key is None:
        raise machine.unsupported("a loop over a value of the row that may be no list")
    return [machine.operate("item", value, place) for place in range(machine.length(value))]


_METHODS: dict[str, Callable[..., Any]] = {
    "strip": _of_text("strip", None),
    "lstrip": _of_text("lstrip", None),
    "rstrip": _of_text("rstrip", None),
    "split": _of_text("split", None, -1, names=("sep", "maxsplit")),
    "rsplit": _of_text("rsplit", None, -1, names=("sep", "maxsplit")),
    "splitlines": _of_text("splitlines"),
    "replace": _of_text("replace", None, None, -1, required=2),
    "lower": _of_text("lower"),
    "upper": _of_text("upper"),
    "title": _of_text("title"),
    "capitalize": _of_text("capitalize"),
    "swapcase": _of_text("swapcase"),
    "casefold": _of_text("casefold"),
    "startswith": _affix("startswith"),
    "endswith": _affix("endswith"),
    "join": _join,
    "get": _get,
    "items": _fields("items"),
    "keys": _fields("keys"),
    "values": _fields("values"),
    "index": _place("index"),
    "find": _place("find"),
    "rfind": _place("rfind"),
    "count": _place("count"),
}
