"""Jinja's filters on values of the row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from promptpress._jinja.environments import plain_json
from promptpress._jinja.partial.calls import expanded
from promptpress._jinja.partial.texts import holds_opaque, json_text
from promptpress._jinja.partial.values import Choice, MarkedSafe, Sym, is_opaque

if TYPE_CHECKING:
    from promptpress._jinja.partial.expressions import Expressions

__all__ = ["apply"]

_OF_TEXTS = frozenset(["trim", "string", "upper", "lower", "capitalize", "replace"])
"""Filters that make a text of whatever they get."""

_MAX_JSON_INDENT = 64
"""Each line has the indent, so what is wider is left to Jinja2, which counts it."""

_OVER_ITEMS = frozenset(
    [
        "map",
        "select",
        "reject",
        "selectattr",
        "rejectattr",
        "list",
        "batch",
        "slice",
        "items",
        "dictsort",
        "reverse",
        "first",
        "last",
        "join",
        "length",
        "count",
    ]
)
"""Filters that go over a list's items: a list of the row is given to them as its items."""


def apply(expressions: Expressions, name: str, value: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Send a value through a filter.

    Args:
        expressions: What evaluates.
        name: The filter's.
        value: The value.
        arguments: Of the filter.
        named: Its keyword arguments.

    Returns:
        What it gives.

    """
    machine = expressions.machine
    opaque = is_opaque(value) or any(map(is_opaque, (*arguments, *named.values())))
    if not opaque and name in _OF_TEXTS and type(value) in (list, tuple, dict) and holds_opaque(value):
        value, opaque = machine.text(value), True
    if name == "random":
        raise machine.unsupported("`random` is chance")
    if name == "tojson" and (opaque or holds_opaque(value)):
        return _known(_tojson, expressions, name, value, *arguments, **named)
    if name == "join" and not opaque and holds_opaque_list(value):
        return _known(_join, expressions, name, value, *arguments, **named)
    if name in ("min", "max") and not opaque and type(value) in (list, tuple) and any(map(is_opaque, value)):
        opaque = True
    if not opaque:
        return _real(expressions, name, value, arguments, named)
    if name not in expressions.environment.filters:
        return _real(expressions, name, value, arguments, named)
    if type(value) is MarkedSafe and name != "safe":
        raise machine.unsupported(f"the filter `{name}` on a safe text of the row")
    known = _FILTERS.get(name)
    if known is not None:
        return _known(known, expressions, name, value, *arguments, **named)
    if name in _OVER_ITEMS and type(value) is Sym and not any(map(is_opaque, (*arguments, *named.values()))):
        return _real(expressions, name, expanded(expressions, value), arguments, named)
    raise machine.unsupported(f"the filter `{name}` on a value of the row")


def _known(known: Callable[..., Any], expressions: Expressions, name: str, /, *given: Any, **named: Any) -> Any:
    try:
        return known(expressions, *given, **named)
    except TypeError as error:
        raise expressions.machine.unsupported(f"the filter `{name}` with these arguments") from error


def holds_opaque_list(value: Any) -> bool:
    """Whether it is a list with values of the row among its items, or a generator, which may have some."""
    return type(value).__name__ == "Once" or (type(value) in (list, tuple) and any(map(is_opaque, value)))


def _real(expressions: Expressions, name: str, value: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    context = expressions.context
    return expressions.machine.real(
        expressions.environment.call_filter, name, value, arguments, named, context, context.eval_ctx
    )


def _text_of(operation: str) -> Callable[..., Any]:
    """A filter that makes a text of its value first."""

    def apply(expressions: Expressions, value: Any) -> Any:
        machine = expressions.machine
        return machine.operate(operation, machine.text(value))

    return apply


def _trim(expressions: Expressions, value: Any, chars: Any = None) -> Any:
    machine = expressions.machine
    return machine.operate("strip", machine.text(value), chars)


def _string(expressions: Expressions, value: Any) -> Any:
    return expressions.machine.text(value)


def _safe(expressions: Expressions, value: Any) -> Any:
    # It is a text already, and so its truth is a text's: that of 'None' or '0', and not the value's.
    return value if type(value) is MarkedSafe else MarkedSafe(expressions.machine.text(value))


def _length(expressions: Expressions, value: Any) -> Any:
    return expressions.machine.operate("length", value)


def _at(place: int, operation: str) -> Callable[..., Any]:
    def apply(expressions: Expressions, value: Any) -> Any:
        machine = expressions.machine
        if value.kind.only("str", "list"):
            return machine.operate("item", value, place)
        return machine.operate(operation, value)

    return apply


def _default(expressions: Expressions, value: Any, default_value: Any = "", boolean: Any = False) -> Any:
    machine = expressions.machine
    if not is_opaque(value):
        # The value is there, the default isn't: which of them it is, the value says.
        undefined = machine.real(lambda: expressions.environment.tests["undefined"](value))
        absent = undefined or (bool(machine.real(bool, boolean)) and not machine.real(bool, value))
        return default_value if absent else value
    if not _flag(expressions, boolean):
        return value
    return machine.branch(machine.condition(value), lambda: value, lambda: default_value)


def _join(expressions: Expressions, value: Any, d: Any = "", attribute: Any = None) -> Any:
    machine = expressions.machine
    if attribute is not None:
        raise machine.unsupported("`join` of attributes of values of the row")
    if type(value) is Sym:
        return machine.operate("join_texts", machine.text(d), value)
    if type(value) is Choice:
        raise machine.unsupported("`join` of a list that a condition decides")
    separator = machine.text(d)
    parts: list[Any] = []
    for number, item in enumerate(machine.real(list, value)):
        if type(item) is Choice or type(item) is MarkedSafe:
            raise machine.unsupported("`join` of values that a condition decides")
        parts += [separator, machine.text(item)] if number else [machine.text(item)]
    return machine.concat(parts)


def _replace(expressions: Expressions, value: Any, old: Any, new: Any, count: Any = None) -> Any:
    machine = expressions.machine
    texts = [machine.text(one) for one in (value, old, new)]
    return machine.operate("replace", *texts, -1 if count is None else count)


def _int(expressions: Expressions, value: Any, default: Any = 0, base: Any = 10) -> Any:
    return expressions.machine.operate("int", value, default, base)


def _float(expressions: Expressions, value: Any, default: Any = 0.0) -> Any:
    return expressions.machine.operate("float", value, default)


def _abs(expressions: Expressions, value: Any) -> Any:
    return expressions.machine.operate("abs", value)


def _round(expressions: Expressions, value: Any, precision: Any = 0, method: Any = "common") -> Any:
    machine = expressions.machine
    if type(method) is not str or method != "common":
        raise machine.unsupported("`round` up or down")
    return machine.operate("round", value, precision)


def _extreme(operation: str) -> Callable[..., Any]:
    def apply(expressions: Expressions, value: Any) -> Any:
        machine = expressions.machine
        items = value if type(value) is Sym else list(value)
        if type(items) is list and not all(type(one) is int or _is_number(one) for one in items):
            raise machine.unsupported(f"`{operation}` of values of the row that may be no numbers")
        return machine.operate(operation, items)

    return apply


def _is_number(value: Any) -> bool:
    return type(value) is Sym and value.kind.only("int", "bool")


def _list(expressions: Expressions, value: Any) -> Any:
    machine = expressions.machine
    if value.kind.only("list"):
        return value
    if value.kind.only("str"):
        return machine.operate("chars", value)
    return machine.real(list, expanded(expressions, value))


def _reverse(expressions: Expressions, value: Any) -> Any:
    machine = expressions.machine
    if value.kind.only("str"):
        return machine.operate("slice", value, None, None, -1)
    return machine.real(reversed, expanded(expressions, value))


def _tojson(  # noqa: PLR0917 - as Jinja's own
    expressions: Expressions,
    x: Any,
    ensure_ascii: Any = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: Any = False,
) -> Any:
    machine = expressions.machine
    if inspect.unwrap(expressions.environment.filters["tojson"]) is not plain_json:
        raise machine.unsupported("`tojson` with escapes for HTML on a value of the row")
    return json_text(
        machine,
        x,
        ensure_ascii=_flag(expressions, ensure_ascii),
        indent=_json_indent(expressions, indent),
        separators=_json_separators(expressions, separators),
        sort_keys=_flag(expressions, sort_keys),
    )


def _flag(expressions: Expressions, value: Any) -> bool:
    """Return the truth of an argument, as the code does that asks for nothing else of it."""
    found = expressions.machine.condition(value)
    if type(found) is not bool:
        raise expressions.machine.unsupported("an argument whose truth the row decides")
    return found


def _json_indent(expressions: Expressions, indent: Any) -> str | None:
    """Return the text of an indent, as `json.dumps` makes it of a number."""
    if indent is None or type(indent) is str:
        return None if indent is None else str(indent)
    if type(indent) in (int, bool) and indent <= _MAX_JSON_INDENT:
        return " " * int(indent)
    raise expressions.machine.unsupported("`tojson` with this `indent`")


def _json_separators(expressions: Expressions, separators: Any) -> tuple[str, str] | None:
    """Return the two separators of `json.dumps`."""
    if separators is None:
        return None
    if type(separators) in (list, tuple) and [type(one) for one in separators] == [str, str]:
        return separators[0], separators[1]
    raise expressions.machine.unsupported("`tojson` with these `separators`")


def _items(expressions: Expressions, value: Any) -> Any:
    machine = expressions.machine
    if not value.kind.only("dict", "none") or value.kind.fields is None:
        raise machine.unsupported("`items` of a value of the row whose keys aren't known")
    machine.operate("length", value)  # a null is no mapping
    return [(name, machine.operate("item", value, name)) for name, _ in value.kind.fields]


_FILTERS: dict[str, Callable[..., Any]] = {
    "trim": _trim,
    "upper": _text_of("upper"),
    "lower": _text_of("lower"),
    "capitalize": _text_of("capitalize"),
    "title": _text_of("title_filter"),
    "string": _string,
    "safe": _safe,
    "length": _length,
    "count": _length,
    "first": _at(0, "first"),
    "last": _at(-1, "last"),
    "default": _default,
    "d": _default,
    "join": _join,
    "replace": _replace,
    "int": _int,
    "float": _float,
    "abs": _abs,
    "round": _round,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "list": _list,
    "reverse": _reverse,
    "items": _items,
}
