"""The model of Jinja programs: each operation is Python's own, on one row as a dict.

`run(program, row)` is what the core has to give for a row, or `Bailed` where it has to give up. The core may give up
more often; where it gives a text, it is this one.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jinja2 import Environment
from jinja2.filters import (
    do_float,
    do_indent,
    do_int,
    do_max,
    do_min,
    do_sort,
    do_title,
    do_unique,
    do_wordwrap,
)
from jinja2.utils import htmlsafe_json_dumps

MAX_REPEATED_BYTES = 1 << 20
"""The limit of the length of a repeated text."""

MAX_INDENT = 64
"""The limit of the spaces that JSON is indented by."""

MAX_WIDTH = 1 << 16
"""The limit of the width of a field."""

MAX_PLACES = 400
"""More places than any float has."""

VALUE = "value"
"""The reason where an operation gave up."""

PICKS = ("item", "first", "last")
"""Operations that pass a value on, whatever its size."""

ENVIRONMENT = Environment()


class Program(Protocol):
    """The interface of `promptpress._jinja.compiler.program.Program`."""

    columns: Any
    nodes: Any
    block: Any
    reasons: Any


@dataclass(frozen=True)
class Bailed:
    """The row is the reference's."""

    reason: str


class BailError(Exception):
    """An operation can't be certain, or Python's raises."""

    def __init__(self, reason: str = VALUE) -> None:
        self.reason = reason
        super().__init__(reason)


def run(program: Program, row: Mapping[str, Any]) -> str | Bailed:
    """The text of a row, by plain Python."""
    out: list[str] = []
    try:
        statements(program, program.block, Values(program, row), out)
    except BailError as bail:
        return Bailed(bail.reason)
    return "".join(out)


def statements(program: Program, block: Any, values: Values, out: list[str]) -> None:
    for name, *operands in block:
        if name == "lit":
            out.append(operands[0])
        elif name == "emit":
            out.append(str(values[operands[0]]))
        elif name == "check":
            values[operands[0]]
        elif name == "if":
            condition, then, otherwise = operands
            statements(program, then if truth(values[condition]) else otherwise, values, out)
        elif name == "bail":
            raise BailError(program.reasons[operands[0]])
        else:
            raise AssertionError(f"no such statement: {name!r}")


class Values:
    """The values of nodes for one row, each evaluated when it is first asked for."""

    def __init__(self, program: Program, row: Mapping[str, Any]) -> None:
        self.program = program
        self.row = row
        self.cached: dict[int, Any] = {}

    def __getitem__(self, operand: Any) -> Any:
        """The value of a node by its number; what isn't a number of a node is a constant itself."""
        if type(operand) is not int:
            return operand
        if operand not in self.cached:
            self.cached[operand] = self.evaluate(self.program.nodes[operand])
        return self.cached[operand]

    def evaluate(self, node: Any) -> Any:
        name, *operands = node
        if name == "column":
            return self.row[self.program.columns[operands[0]]]
        if name == "const":
            return operands[0]
        if name == "select":
            condition, then, otherwise = operands
            return self[then] if truth(self[condition]) else self[otherwise]
        arguments = [self[operand] for operand in operands]
        try:
            value = OPERATIONS[name](*arguments)
        except BailError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise BailError from error
        if name not in PICKS and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise BailError
        return value


def kind(value: Any) -> str:
    if value is None:
        return "none"
    names = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}
    return names.get(type(value), "other")


def only(value: Any, *kinds: str) -> Any:
    if kind(value) not in kinds:
        raise BailError
    return value


NUMBERS = ("bool", "int", "float")
PLAIN = ("none", *NUMBERS, "str", "list", "dict")


def truth(value: Any) -> bool:
    return bool(only(value, *PLAIN))


def concat(*texts: Any) -> str:
    return "".join(only(text, "str") for text in texts)


def item(container: Any, key: Any) -> Any:
    if kind(container) == "dict":
        return container[only(key, "str")]
    return only(container, "list", "str")[only(key, "int", "bool")]


def slice_of(value: Any, *bounds: Any) -> Any:
    return only(value, "list", "str")[slice(*(only(bound, "none", "int", "bool") for bound in bounds))]


def add(left: Any, right: Any) -> Any:
    if kind(left) in ("str", "list"):
        return left + only(right, kind(left))
    return only(left, *NUMBERS) + only(right, *NUMBERS)


def numbers(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: operation(*(only(value, *NUMBERS) for value in values))


def mul(left: Any, right: Any) -> Any:
    if kind(right) == "str":
        left, right = right, left
    if kind(left) == "str":
        if len(left.encode()) * only(right, "int", "bool") > MAX_REPEATED_BYTES:
            raise BailError
        return left * right
    return only(left, *NUMBERS) * only(right, *NUMBERS)


def method(name: str, *kinds: tuple[str, ...]) -> Callable[..., Any]:
    """A method of str, with what its arguments may be."""

    def call(text: Any, *arguments: Any) -> Any:
        only(text, "str")
        for argument, allowed in zip(arguments, kinds, strict=True):
            only(argument, *allowed)
        return getattr(text, name)(*arguments)

    return call


def join(separator: Any, values: Any) -> str:
    return str(only(separator, "str").join(only(values, "list")))


def join_texts(separator: Any, values: Any) -> str:
    return str(only(separator, "str").join(map(str, only(values, "list"))))


def affix(name: str) -> Callable[..., bool]:
    def call(text: Any, affixes: Any) -> bool:
        affixes = tuple(affixes) if kind(affixes) == "list" else only(affixes, "str")
        return bool(getattr(only(text, "str"), name)(affixes))

    return call


def contains(container: Any, value: Any) -> bool:
    if kind(container) in ("str", "dict"):
        return only(value, "str") in container
    return only(value, *PLAIN) in only(container, "list")


def equal(left: Any, right: Any) -> bool:
    return bool(only(left, *PLAIN) == only(right, *PLAIN))


def ordered(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def call(left: Any, right: Any) -> bool:
        if kind(left) == "str":
            return operation(left, only(right, "str"))
        return operation(only(left, *NUMBERS), only(right, *NUMBERS))

    return call


def same(left: Any, right: Any) -> bool:
    only(right, "none", "bool")
    return left is right


def place_of(name: str) -> Callable[[Any, Any], int]:
    def call(values: Any, value: Any) -> int:
        if kind(values) == "str":
            only(value, "str")
        else:
            only(values, "list")
            only(value, *PLAIN)
        return int(getattr(values, name)(value))

    return call


def to_int(value: Any) -> int:
    return int(only(value, *NUMBERS, "str"))


def from_json(value: Any) -> float:
    number = json.loads(only(value, "str"), parse_int=_in_64_bits)
    return only(number, "int", "float")


def _in_64_bits(digits: str) -> int:
    if not -(2**63) <= int(digits) < 2**63:
        raise BailError
    return int(digits)


def rounded(value: Any, *precision: Any) -> Any:
    if any(only(number, "int", "bool") < -MAX_PLACES for number in precision):
        raise BailError  # Python would take forever
    return round(only(value, *NUMBERS), *(only(number, "int", "bool") for number in precision))


def jsonable(value: Any) -> Any:
    if kind(value) == "list":
        for item in value:
            jsonable(item)
    elif kind(value) == "dict":
        for item in value.values():
            jsonable(item)
    return only(value, *PLAIN)


def tojson(
    value: Any, indent: Any = None, sort_keys: bool = False, ensure_ascii: bool = True, separators: Any = None
) -> str:
    if not isinstance(indent, str | None) and not 0 <= only(indent, "int") <= MAX_INDENT:
        raise BailError
    separators = None if separators is None else tuple(only(separators, "list"))
    return json.dumps(
        jsonable(value), indent=indent, sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=separators
    )


def json_of_json(value: str, level: int, indent: Any, ensure_ascii: bool, separators: Any) -> str:
    return json_at_level(json.loads(only(value, "str")), indent, False, ensure_ascii, separators, level)


def json_at_level(value: Any, *options: Any) -> str:
    """JSON as it stands within so many lists as the last option says."""
    if len(options) < 5:
        return tojson(value, *options)
    indent, level = options[0], options[4]
    if not 0 <= only(level, "int") <= MAX_INDENT:
        raise BailError
    nested = value
    for _ in range(level):
        nested = [nested]
    text = tojson(nested, *options[:4])
    line = 0 if indent is None else 1
    unit = (len(indent) if isinstance(indent, str) else indent or 0) * line
    begin = sum(1 + line + unit * (number + 1) for number in range(level))
    return text[begin : len(text) - sum(1 + line + unit * number for number in range(level))]


def formatted(value: Any, spec: str, is_printf: bool = False) -> str:
    if not only(spec, "str"):
        return str(value)
    if any(int(number) > MAX_WIDTH for number in re.findall(r"\d+", spec)):
        raise BailError
    if only(is_printf, "bool") and isinstance(value, float) and spec.endswith("d"):
        value = int(value)
    return format(only(value, "str", *NUMBERS), spec)


def justify(text: Any, width: Any, fill: Any, side: str) -> str:
    if only(width, "int", "bool") > MAX_WIDTH or side not in ("center", "ljust", "rjust"):
        raise BailError
    return str(getattr(only(text, "str"), side)(width, only(fill, "str")))


def shortened(text: str, count: int) -> str:
    if count < 0:
        raise BailError
    return text[:count].rsplit(" ", 1)[0]


def indented(text: Any, indention: Any, blank: Any) -> str:
    return do_indent(only(text, "str"), only(indention, "str"), blank=only(blank, "bool"))


def wrapped(text: Any, width: Any, break_long: Any, on_hyphens: Any, between: Any) -> str:
    flags = only(break_long, "bool"), only(between, "str"), only(on_hyphens, "bool")
    return do_wordwrap(ENVIRONMENT, only(text, "str"), only(width, "int"), *flags)


def alike(values: Any) -> Any:
    """A list of nothing but texts or nothing but numbers."""
    for value in only(values, "list"):
        only(value, "str") if kind(values[0]) == "str" else only(value, *NUMBERS)
    return values


def extreme(of: Callable[..., Any]) -> Callable[..., Any]:
    def call(values: Any, case_sensitive: bool = False) -> Any:
        if not alike(values):
            raise BailError
        return of(ENVIRONMENT, values, case_sensitive)

    return call


OPERATIONS: dict[str, Callable[..., Any]] = {
    "text": str,
    "repr": repr,
    "concat": concat,
    "item": item,
    "slice": slice_of,
    "length": lambda value: len(only(value, "str", "list", "dict")),
    "add": add,
    "sub": numbers(operator.sub),
    "mul": mul,
    "floordiv": numbers(operator.floordiv),
    "truediv": numbers(operator.truediv),
    "mod": numbers(operator.mod),
    "neg": numbers(operator.neg),
    "strip": method("strip", ("none", "str")),
    "lstrip": method("lstrip", ("none", "str")),
    "rstrip": method("rstrip", ("none", "str")),
    "split": method("split", ("none", "str"), ("int",)),
    "rsplit": method("rsplit", ("none", "str"), ("int",)),
    "splitlines": method("splitlines"),
    "join": join,
    "join_texts": join_texts,
    "replace": method("replace", ("str",), ("str",), ("int",)),
    "lower": method("lower"),
    "upper": method("upper"),
    "title": method("title"),
    "capitalize": method("capitalize"),
    "swapcase": method("swapcase"),
    "casefold": method("casefold"),
    "title_filter": lambda value: do_title(only(value, "str")),
    "startswith": affix("startswith"),
    "endswith": affix("endswith"),
    "contains": contains,
    "eq": equal,
    "ne": lambda left, right: not equal(left, right),
    "lt": ordered(operator.lt),
    "le": ordered(operator.le),
    "gt": ordered(operator.gt),
    "ge": ordered(operator.ge),
    "is": same,
    "not": lambda value: not truth(value),
    "truth": truth,
    "index": place_of("index"),
    "find": place_of("find"),
    "rfind": place_of("rfind"),
    "count": place_of("count"),
    "int": lambda value, default=0, base=10: do_int(only(value, *PLAIN), default, only(base, "int")),
    "float": lambda value, default=0.0: do_float(only(value, *PLAIN), default),
    "to_int": to_int,
    "from_json": from_json,
    "text_of_json": lambda value: str(json.loads(only(value, "str"))),
    "json_of_json": json_of_json,
    "abs": numbers(abs),
    "round": rounded,
    "tojson": json_at_level,
    "shortened": lambda text, count: shortened(only(text, "str"), only(count, "int")),
    "escape_json": lambda value: str(htmlsafe_json_dumps(None, lambda _: only(value, "str"))),
    "format": formatted,
    "justify": justify,
    "indent": indented,
    "wordwrap": wrapped,
    "json_string": lambda value: json.dumps(only(value, "str"), ensure_ascii=False),
    "kind": kind,
    "list": lambda *values: list(values),
    "reverse": lambda values: only(values, "list")[::-1],
    "sort": lambda values, reverse=False, case_sensitive=False: do_sort(
        ENVIRONMENT, alike(values), reverse, case_sensitive
    ),
    "unique": lambda values, case_sensitive=False: list(do_unique(ENVIRONMENT, alike(values), case_sensitive)),
    "min": extreme(do_min),
    "max": extreme(do_max),
    "sum": lambda values: sum(only(value, *NUMBERS) for value in only(values, "list")),
    "first": lambda values: only(values, "list", "str")[0],
    "last": lambda values: only(values, "list", "str")[-1],
    "chars": lambda text: list(only(text, "str")),
    "keys": lambda value: list(only(value, "dict")),
    "values": lambda value: list(only(value, "dict").values()),
    "items_list": lambda value: [list(pair) for pair in only(value, "dict").items()],
}
"""Operations by name, except `column`, `const` and `select`."""
