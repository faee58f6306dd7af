"""Jinja's filters and tests on values of the row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from promptpress._jinja.compiler.expressions import compare
from promptpress._jinja.compiler.formats import printf
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.operands import holds_opaque, json_text
from promptpress._jinja.compiler.values import BailError, Choice, Closed, MarkedSafe, Sym, is_opaque
from promptpress._jinja.sandbox.environments import plain_json

_OF_TEXTS = frozenset(["trim", "string", "upper", "lower", "capitalize", "replace"])
"""Filters that convert any value to a text."""

_MAX_INDENT = 1000
_MAX_JSON_INDENT = 64
"""Each line has the indent, so wider ones are left to Jinja2, which counts their characters."""

_OVER_ITEMS = frozenset(
    {"map", "select", "reject", "selectattr", "rejectattr", "list", "batch", "slice", "items", "dictsort", "reverse"}
    | {"first", "last", "join", "length", "count"}
)
"""Filters over a list's items: they get a list of the row as a list of its items."""


def apply_filter(machine: Machine, name: str, value: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Apply a filter to a value."""
    opaque = is_opaque(value) or any(map(is_opaque, (*arguments, *named.values())))
    if not opaque and name in _OF_TEXTS and type(value) in (list, tuple, dict) and holds_opaque(value):
        value, opaque = machine.text(value), True
    if name == "random":
        raise machine.unsupported("`random` is chance")
    if not opaque:
        opaque = name in _LOOKING_INSIDE and _LOOKING_INSIDE[name](value)
    if not opaque or name not in machine.environment.filters:
        return _real(machine, name, value, arguments, named)
    if type(value) is MarkedSafe and name not in ("safe", "tojson"):
        raise machine.unsupported(f"the filter `{name}` on a safe text of the row")
    compiled = _FILTERS.get(name)
    if compiled is not None:
        return machine.bound(f"the filter `{name}`", compiled, machine, value, *arguments, **named)
    if name in _OVER_ITEMS and type(value) is Sym and not any(map(is_opaque, (*arguments, *named.values()))):
        return _real(machine, name, machine.expanded(value), arguments, named)
    raise machine.unsupported(f"the filter `{name}` on a value of the row")


def _has_opaque_items(value: Any) -> bool:
    """Return true for a list with values of the row among its items, and for a generator, which may have some."""
    return type(value).__name__ == "Once" or (type(value) in (list, tuple) and any(map(is_opaque, value)))


def _real(machine: Machine, name: str, value: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    context = machine.context
    return machine.real(machine.environment.call_filter, name, value, arguments, named, context, context.eval_ctx)


def _text_of(operation: str) -> Callable[..., Any]:
    """Make a filter that converts its value to a text first."""

    def apply(machine: Machine, value: Any) -> Any:
        return machine.operate(operation, machine.text(value))

    return apply


def _safe(machine: Machine, value: Any) -> Any:
    # It is a text already, so its truth is that of a text such as 'None' or '0', and not the value's.
    return value if type(value) is MarkedSafe else MarkedSafe(machine.text(value))


def _operation(operation: str) -> Callable[..., Any]:
    return lambda machine, value: machine.operate(operation, value)


def _item(index: int, operation: str) -> Callable[..., Any]:
    def apply(machine: Machine, value: Any) -> Any:
        if value.kind.only("str", "list"):
            return machine.operate("item", value, index)
        return machine.operate(operation, value)

    return apply


def _default(machine: Machine, value: Any, default_value: Any = "", boolean: Any = False) -> Any:
    if not is_opaque(value):
        # Only the default is unknown, so the value decides between them.
        undefined = machine.real(lambda: machine.environment.tests["undefined"](value))
        absent = undefined or (bool(machine.real(bool, boolean)) and not machine.real(bool, value))
        return default_value if absent else value
    if not _flag(machine, boolean):
        return value
    return machine.branch(machine.condition(value), lambda: value, lambda: default_value)


def _join(machine: Machine, value: Any, d: Any = "", attribute: Any = None) -> Any:
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


def _replace(machine: Machine, value: Any, old: Any, new: Any, count: Any = None) -> Any:
    texts = [machine.text(text) for text in (value, old, new)]
    return machine.operate("replace", *texts, -1 if count is None else count)


def _round(machine: Machine, value: Any, precision: Any = 0, method: Any = "common") -> Any:
    if type(method) is not str or method != "common":
        raise machine.unsupported("`round` up or down")
    return machine.operate("round", value, precision)


def _extreme(operation: str) -> Callable[..., Any]:
    def apply(machine: Machine, value: Any) -> Any:
        items = value if type(value) is Sym else list(value)
        if type(items) is list and not all(map(_is_integer, items)):
            raise machine.unsupported(f"`{operation}` of values of the row that may be no numbers")
        return machine.operate(operation, items)

    return apply


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is Sym and value.kind.only("int", "bool"))


def _list(machine: Machine, value: Any) -> Any:
    if value.kind.only("list"):
        return value
    if value.kind.only("str"):
        return machine.operate("chars", value)
    return machine.real(list, machine.expanded(value))


def _reverse(machine: Machine, value: Any) -> Any:
    if value.kind.only("str"):
        return machine.operate("slice", value, None, None, -1)
    return machine.real(reversed, machine.expanded(value))


def _truncate(  # noqa: PLR0917 - as Jinja's own
    machine: Machine, s: Any, length: Any = 255, killwords: Any = False, end: Any = "...", leeway: Any = None
) -> Any:
    leeway = machine.environment.policies["truncate.leeway"] if leeway is None else leeway
    if [type(length), type(end), type(leeway)] != [int, str, int] or length < len(end) or leeway < 0:
        raise machine.unsupported("`truncate` with these arguments")

    def shortened() -> Any:
        count = length - len(end)
        killed = machine.operate("slice", s, None, count, None) if _flag(machine, killwords) else None
        return machine.concat([machine.operate("shortened", s, count) if killed is None else killed, end])

    is_short = machine.operate("le", machine.operate("length", s), length + leeway)
    return machine.branch(machine.condition(is_short), lambda: s, shortened)


def _indent(machine: Machine, s: Any, width: Any = 4, first: Any = False, blank: Any = False) -> Any:
    if type(width) not in (int, bool, str) or (type(width) is not str and width > _MAX_INDENT):
        raise machine.unsupported("`indent` with this width")
    indention = width if type(width) is str else " " * width
    text = machine.operate("indent", s, indention, _flag(machine, blank))
    return machine.concat([indention, text]) if _flag(machine, first) else text


def _wordwrap(  # noqa: PLR0917 - as Jinja's own
    machine: Machine,
    s: Any,
    width: Any = 79,
    break_long_words: Any = True,
    wrapstring: Any = None,
    break_on_hyphens: Any = True,
) -> Any:
    flags = _flag(machine, break_long_words), _flag(machine, break_on_hyphens)
    between = machine.environment.newline_sequence if wrapstring is None else wrapstring
    return machine.operate("wordwrap", s, width, *flags, between)


def justified(side: str) -> Callable[..., Any]:
    """Make the method of a text that fills it with characters up to a width."""

    def method(machine: Machine, receiver: Any, width: Any, fill: Any = " ", /) -> Any:
        return machine.operate("justify", receiver, width, fill, side)

    return method


def _center(machine: Machine, value: Any, width: Any = 80) -> Any:
    return machine.operate("justify", machine.text(value), width, " ", "center")


def _format(machine: Machine, value: Any, *arguments: Any, **named: Any) -> Any:
    if arguments and named:
        raise machine.unsupported("`format` with arguments and named ones")
    return printf(machine, value, named or tuple(arguments))


def _tojson(machine: Machine, *given: Any, **named: Any) -> Any:
    if inspect.unwrap(machine.environment.filters["tojson"]) is plain_json:
        return _plain_json(machine, *given, **named)
    return MarkedSafe(machine.operate("escape_json", _sorted_json(machine, *given, **named)))


def _sorted_json(machine: Machine, value: Any, indent: Any = None) -> Any:
    indent = _json_indent(machine, indent)
    return json_text(machine, value, ensure_ascii=True, indent=indent, separators=None, sort_keys=True)


def _plain_json(  # noqa: PLR0917 - as Jinja's own
    machine: Machine,
    x: Any,
    ensure_ascii: Any = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: Any = False,
) -> Any:
    return json_text(
        machine,
        x,
        ensure_ascii=_flag(machine, ensure_ascii),
        indent=_json_indent(machine, indent),
        separators=_json_separators(machine, separators),
        sort_keys=_flag(machine, sort_keys),
    )


def _flag(machine: Machine, value: Any) -> bool:
    """Return the truth of an argument of which nothing else matters."""
    truth = machine.condition(value)
    if type(truth) is not bool:
        raise machine.unsupported("an argument whose truth the row decides")
    return truth


def _json_indent(machine: Machine, indent: Any) -> str | None:
    """Return the text of an indent, as `json.dumps` derives it from a number."""
    if indent is None or type(indent) is str:
        return indent
    if type(indent) in (int, bool) and indent <= _MAX_JSON_INDENT:
        return " " * int(indent)
    raise machine.unsupported("`tojson` with this `indent`")


def _json_separators(machine: Machine, separators: Any) -> tuple[str, str] | None:
    """Return the two separators of `json.dumps`."""
    if separators is None:
        return None
    if type(separators) in (list, tuple) and [type(separator) for separator in separators] == [str, str]:
        return separators[0], separators[1]
    raise machine.unsupported("`tojson` with these `separators`")


def _items(machine: Machine, value: Any) -> Any:
    if value.kind.known_fields is None:
        raise machine.unsupported("`items` of a value of the row whose keys aren't known")
    machine.operate("length", value)  # None is no mapping
    return [(name, machine.operate("item", value, name)) for name, _ in value.kind.known_fields]


_LOOKING_INSIDE: dict[str, Callable[[Any], bool]] = {
    "tojson": holds_opaque,
    "join": _has_opaque_items,
    **dict.fromkeys(["min", "max"], lambda value: type(value) in (list, tuple) and any(map(is_opaque, value))),
}
"""Filters that are compiled for known values that hold values of the row, and when they are."""

_FILTERS: dict[str, Callable[..., Any]] = {
    "tojson": _tojson,
    "truncate": _truncate,
    "indent": _indent,
    "wordwrap": _wordwrap,
    "center": _center,
    "format": _format,
    "trim": lambda machine, value, chars=None: machine.operate("strip", machine.text(value), chars),
    **{name: _text_of(name) for name in ("upper", "lower", "capitalize")},
    "title": _text_of("title_filter"),
    "string": lambda machine, value: machine.text(value),
    "safe": _safe,
    **dict.fromkeys(["length", "count"], _operation("length")),
    "first": _item(0, "first"),
    "last": _item(-1, "last"),
    **dict.fromkeys(["default", "d"], _default),
    "join": _join,
    "replace": _replace,
    "int": lambda machine, value, default=0, base=10: machine.operate("int", value, default, base),
    "float": lambda machine, value, default=0.0: machine.operate("float", value, default),
    "abs": _operation("abs"),
    "round": _round,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "list": _list,
    "reverse": _reverse,
    "items": _items,
}


_COMPARISONS = {
    **dict.fromkeys(["eq", "==", "equalto"], "eq"),
    **dict.fromkeys(["ne", "!="], "ne"),
    **dict.fromkeys(["lt", "<", "lessthan"], "lt"),
    **dict.fromkeys(["le", "<="], "lteq"),
    **dict.fromkeys(["gt", ">", "greaterthan"], "gt"),
    **dict.fromkeys(["ge", ">="], "gteq"),
    "in": "in",
}
_KINDS = {
    "none": ("none",),
    "string": ("str",),
    "mapping": ("dict",),
    "sequence": ("str", "list", "dict"),
    "iterable": ("str", "list", "dict"),
    "boolean": ("bool",),
    "integer": ("int",),
    "float": ("float",),
    "number": ("bool", "int", "float"),
    "callable": (),
}


def apply_test(  # noqa: PLR0911 - a return for each kind of value
    machine: Machine, name: str, value: Any, arguments: list[Any], named: dict[str, Any]
) -> Any:
    """Test a value."""
    environment = machine.environment
    if named:
        raise machine.unsupported("a test with named arguments")
    if not is_opaque(value) and not any(map(is_opaque, arguments)):
        if type(value).__name__ == "Namespace" and name == "defined":
            return True
        return machine.real(
            environment.call_test, name, value, arguments, {}, machine.context, machine.context.eval_ctx
        )
    if name in ("defined", "undefined") and not arguments:
        return name == "defined"
    if type(value) is Closed and name in _KINDS and not arguments:
        return value.kind in _KINDS[name]
    if name in _COMPARISONS and len(arguments) == 1:
        return compare(machine, _COMPARISONS[name], value, arguments[0])
    if type(value) is MarkedSafe or type(value) is not Sym:
        raise machine.unsupported(f"the test `{name}` with a value of the row")
    if name in _KINDS and not arguments:
        return of_kind(machine, value, *_KINDS[name])
    test = _TESTS.get(name)
    if test is None:
        raise machine.unsupported(f"the test `{name}` of a value of the row")
    return machine.bound(f"the test `{name}`", test, machine, value, *arguments)


def of_kind(machine: Machine, value: Sym, *kinds: str) -> Any:
    """Test if a value of the row is of one of these kinds of `Kind`; rows whose value is of an unknown kind bail."""
    if value.kind.only(*kinds):
        return True
    if value.kind.never(*kinds, "other"):
        return False
    kind = machine.operate("kind", value)
    if not value.kind.never("other") and kinds not in {("none",), ("str",)}:

        def end() -> Any:
            raise BailError("a value of a type that isn't compiled", machine.lineno)

        machine.branch(machine.condition(machine.operate("eq", kind, "other")), end, lambda: None)
    if len(kinds) == 1:
        return machine.operate("eq", kind, kinds[0])
    return machine.operate("contains", list(kinds), kind)


def _identity(constant: bool) -> Callable[..., Any]:
    return lambda machine, value: machine.operate("is", value, constant)


def _sameas(machine: Machine, value: Sym, other: Any) -> Any:
    if other is None or type(other) is bool:
        return machine.operate("is", value, other)
    raise machine.unsupported("`sameas` with a value of the row")


def _divisible(machine: Machine, value: Sym, num: Any, /, *, rest: int = 0) -> Any:
    if not value.kind.only("int", "bool", "float", "none"):
        raise machine.unsupported("a division of a value of the row that may be no number")
    return machine.operate("eq", machine.operate("mod", value, num), rest)


_TESTS: dict[str, Callable[..., Any]] = {
    "true": _identity(True),
    "false": _identity(False),
    "sameas": _sameas,
    "odd": lambda machine, value: _divisible(machine, value, 2, rest=1),
    "even": lambda machine, value: _divisible(machine, value, 2),
    "divisibleby": _divisible,
}
