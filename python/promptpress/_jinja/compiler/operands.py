"""The operands of a program's operations: constants, values of the row, and results of Jinja's own code."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from jinja2 import nodes
from jinja2.runtime import LoopContext
from jinja2.utils import Cycler

from promptpress._jinja.compiler.program import Builder, Statement
from promptpress._jinja.compiler.values import (
    BailError,
    Choice,
    Closed,
    NeedsKeyError,
    Opaque,
    Sym,
    Trail,
    UnsupportedError,
    inspections,
    is_opaque,
)
from promptpress._jinja.sandbox.bounds import BUDGET, charge, charge_text, weigh
from promptpress._jinja.traced_environment import Writer, text_of
from promptpress._jinja.traced_values import (
    Origin,
    TracedText,
    is_safe,
    is_traced,
    pieces,
    plain,
    with_origin,
)
from promptpress._jinja.traced_values import joined as joined_text

MAX_VALUES = 200_000


def generated_values(values: Any, machine: Operands) -> list[Any]:
    """Return the values of a generator, unless there are too many to be worth compiling."""
    out: list[Any] = []
    for value in values:
        if len(out) >= MAX_VALUES:
            raise machine.unsupported(f"a generator of more than {MAX_VALUES:,} values")
        out.append(value)
    return out


class Once:
    """The values of a generator, which can be consumed once. The state holds the position, for the ways of a fork."""

    def __init__(self, machine: Operands, items: list[Any]) -> None:
        self._machine = machine
        self._items = items
        self._key = ("once", id(self), self)
        self._is_of_test = machine.is_testing

    def __iter__(self) -> Once:
        return self

    def __next__(self) -> Any:
        index = self._position()
        if index >= len(self._items):
            raise StopIteration
        self._machine.state[self._key] = index + 1
        return self._items[index]

    def rest(self) -> list[Any]:
        """Return the values that are left, after which asking for more is refused."""
        index = self._position()
        self._machine.state[self._key] = None
        return self._items[index:]

    def _position(self) -> int:
        index = self._machine.state.get(self._key, 0)
        if type(index) is not int:
            raise self._machine.unsupported("it isn't known how much of a generator has been used")
        if self._machine.is_testing and not self._is_of_test:
            raise self._machine.unsupported("a loop's condition uses a generator")
        return index

    __str__ = __repr__ = Opaque.__repr__


_MAX_DEPTH = 50
_STEPS_OF_PART = 4
"""The cost of a part of a list's text; a visit of a node of the template's tree costs 1."""


def holds_opaque(value: Any, depth: int = 0, seen: dict[int, int] | None = None) -> bool:
    """Return true if a value contains a value of the row, or is nested very deep. Each list is searched once."""
    if is_opaque(value):
        return True
    if type(value) not in (list, tuple, dict):
        return False
    if depth > _MAX_DEPTH:
        return True
    seen = {} if seen is None else seen
    if seen.get(id(value), -1) >= depth:
        return False
    seen[id(value)] = depth
    charge(len(value) >> 2)
    parts = [*value, *value.values()] if type(value) is dict else value
    return any(holds_opaque(part, depth + 1, seen) for part in parts)


@dataclass
class _OpenWriter(Writer):
    """Writes lists and dicts that contain values of the row; `write` returns such a value's text at a level."""

    machine: Operands = field(kw_only=True)
    write: Callable[[Any, int], Any] = field(kw_only=True)

    def parts(self, value: Any, around: Origin | None = None, depth: int = 1) -> list[Any]:
        self.machine.spend(_STEPS_OF_PART)
        if depth > _MAX_DEPTH + 1:
            raise self.machine.unsupported("the text of a list that is nested very deep")
        if is_opaque(value):
            return [self.write(value, depth - 1)]
        if type(value) is dict and not self.has_tuples and not all(isinstance(key, str) for key in value):
            raise self.machine.unsupported("JSON of a dict whose keys are no texts")
        return super().parts(value, around, depth)

    def text(self, value: Any) -> Any:
        """Return a value's text."""
        parts = self.parts(value)
        return self.machine.concat([with_origin(*part) if type(part) is tuple else part for part in parts])


def plain_text(machine: Operands, value: Any) -> Any:
    """Return `str` of a list, tuple or dict that contains values of the row."""

    def scalar(item: Any) -> str:
        machine.weigh(item)
        return str(machine.real(repr, item))

    def write(item: Any, _: int) -> Any:
        if type(item) is Closed:
            return machine.operate("text_of_json", item.json)
        return machine.operate("repr", item)

    return _OpenWriter(scalar, ", ", ": ", has_tuples=True, machine=machine, write=write).text(value)


def json_text(
    machine: Operands,
    value: Any,
    *,
    ensure_ascii: bool,
    indent: str | None,
    separators: tuple[str, str] | None,
    sort_keys: bool,
) -> Any:
    """Return `json.dumps` of a value that contains values of the row; the indent is the text for each level."""

    def scalar(item: Any) -> str:
        machine.weigh(item)
        return str(machine.real(json.dumps, item, ensure_ascii=ensure_ascii))

    listed = None if separators is None else list(separators)

    def write(item: Any, level: int) -> Any:
        if type(item) is Sym:
            return machine.operate("tojson", item, indent, sort_keys, ensure_ascii, listed, level)
        if type(item) is Closed and not sort_keys:
            if indent is None and separators is None and not ensure_ascii:
                return item.json
            return machine.operate("json_of_json", item.json, level, indent, ensure_ascii, listed)
        if type(item) is Choice:
            raise machine.unsupported("JSON of a value that a condition decides")
        raise machine.unsupported("sorted JSON of a value of the row that isn't looked into")

    item, key = separators or ((", ", ": ") if indent is None else (",", ": "))
    return _OpenWriter(scalar, item, key, indent, sort_keys, machine=machine, write=write).text(value)


MAX_STEPS = 100_000
"""Visits of nodes of the template's tree: templates that need more aren't worth compiling, or never end."""

SCALARS = (type(None), bool, int, float, str)
TEXTS = (str, TracedText)
_INT64 = 1 << 63
_ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)
"""Part of the text of an object without its own text. The address differs for each row, so programs can't write it."""

Keys = Mapping[tuple[Any, ...], int]


class Operands:
    """Applies operations to values, for the given values of keys; without keys, the program must not depend on any."""

    def __init__(self, builder: Builder, keys: Keys | None) -> None:
        self.builder = builder
        self.keys = keys
        self.assumed_key: int | None = None
        """The value of keys that aren't given, to see what would be compiled if there were rows."""
        self.state = Trail()
        """The state of variables, namespaces and generators."""
        self.facts = Trail()
        """Facts on the way here: the truth of conditions, by their nodes; and which nodes have been checked."""
        self.block: list[Statement] = []
        self.steps = 0
        self.environment: Any = None
        """The environment, whose filters and tests handle values of the row."""
        self.context: Any = None
        """Jinja's context of the evaluation."""
        self.is_testing = False
        """True while a loop's condition is evaluated for all items at once."""
        self.lineno = 0
        self.node_type = "Template"
        self.visited: dict[tuple[int, str], None] = {}

    @property
    def is_exhausted(self) -> bool:
        """True if compiling has reached the limit of its cost."""
        return self.steps > MAX_STEPS or BUDGET.left < 0

    def step(self, node: nodes.Node) -> None:
        """Count a step: a node of the template's tree is visited."""
        self.lineno = node.lineno or self.lineno
        self.node_type = type(node).__name__
        self.visited[self.lineno, self.node_type] = None
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.spend(0)

    def spend(self, steps: int) -> None:
        """Count work other than visiting nodes of the template's tree; a visit costs 1."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise self.unsupported(f"it takes more than {MAX_STEPS:,} steps to evaluate")

    def unsupported(self, what: str) -> UnsupportedError:
        """Return the error for an operation that isn't compiled."""
        return UnsupportedError(what, self.lineno)

    def real(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call code of Jinja's or Python's, as it would be called while a row is rendered.

        A BailError is raised if the function raises, or has inspected a value of the row.
        """
        before = inspections()
        try:
            result = function(*arguments, **named)
            if _is_generator(result):
                result = Once(self, generated_values(result, self))
        except (BailError, NeedsKeyError):
            raise
        except RecursionError as error:
            raise self.unsupported("it calls itself too often") from error
        except Exception as error:
            raise BailError(f"raises {type(error).__name__}: {error}", self.lineno) from error
        if inspections() != before:
            raise self.unsupported("a value of the row is looked at by an operation that isn't compiled")
        if issubclass(type(result), str) and _ADDRESS.search(result):
            raise self.unsupported("a text with an address in memory, such as a method's")
        return self.finite(result)

    def bound(self, what: str, function: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
        """Call one of the compiler's own functions; arguments that it doesn't take aren't compiled."""
        try:
            return function(*given, **named)
        except TypeError as error:
            raise self.unsupported(f"{what} with these arguments") from error

    def finite(self, value: Any) -> Any:
        """Return a constant of the template, unless it is NaN or infinite.

        Jinja2 writes a constant into its code as the text of a number. `inf` and `nan` are names there, so the code
        raises.
        """
        if type(value) is float and not isfinite(value):
            raise self.unsupported("a number of the template's own that isn't finite")
        return value

    def weigh(self, *values: Any) -> None:
        """Count the cost of looking at all parts of known values, as a comparison, a hash or a text does.

        The cost may be too high for any list, because it may contain another one any number of times.
        """
        for value in values:
            if type(value) not in SCALARS:
                self.real(lambda: charge(weigh(value) >> 4))  # noqa: B023 - called at once

    # Expressions

    def node(self, value: Any) -> int:
        """Return the node of a value of the row, or of a constant."""
        if type(value) is Sym:
            if value.node < 0:
                raise self.unsupported("what a loop over the characters of a text does with them")
            return value.node
        if type(value) in SCALARS:
            self._check_width(value)
            return self.builder.constant(value)
        if type(value) is TracedText:
            nodes = self._part_nodes(value)
            return nodes[0] if len(nodes) == 1 else self.builder.operation("concat", *nodes).node
        if is_traced(value) and not is_safe(value):
            self._check_width(plain(value))
            return self.builder.data(plain(value), value.origin).node
        if type(value) is list:
            self.spend(1)
            self.weigh(value)
            if all(type(item) in SCALARS for item in value):
                for item in value:
                    self._check_width(item)
                return self.builder.constant(list(value))
            return self.builder.operation("list", *(self.node(item) for item in value)).node
        name = "an undefined value or an object" if not is_opaque(value) else "a value that a condition decides"
        raise self.unsupported(f"{name} among the operands of an operation on a value of the row")

    def _part_nodes(self, text: str) -> list[int]:
        """Return the nodes of a known text's parts."""
        return [
            self.builder.constant(part) if origin is None else self.builder.data(part, origin).node
            for part, origin in pieces(text)
        ]

    def _check_width(self, value: Any) -> None:
        if type(value) is int and not -_INT64 <= value < _INT64:
            raise self.unsupported("a number beyond 64 bits")

    def operate(self, name: str, *values: Any) -> Sym:
        """Apply an operation to values; if it may bail, the row is checked here."""
        result = self.builder.operation(name, *(self.node(value) for value in values))
        if not self.builder.certain[result.node] and not self.facts.get(("checked", result.node)):
            self.facts[("checked", result.node)] = True
            self.block.append(("check", result.node))
        return result

    def text(self, value: Any) -> Any:
        """Return `str(value)`."""
        if type(value) is Sym:
            return value if value.kind.only("str") else self.operate("text", value)
        if type(value) is Closed:
            return self.operate("text_of_json", value.json)
        if type(value) in (list, tuple, dict) and holds_opaque(value):
            return plain_text(self, value)
        return self.real(_plain_text, value)

    def number(self, value: Sym) -> int:
        """Return a number, for which the program is made."""
        if self.keys is None:
            raise self.unsupported("how often a loop runs is decided by a value of the row")
        if self.assumed_key is not None:
            return self.assumed_key
        key = self.builder.expression(value.node)
        self.spend(len(key))
        if key not in self.keys:
            if self.builder.is_too_deep(value.node):
                raise self.unsupported("a number for which expressions are nested very deep")
            raise NeedsKeyError(key)
        if self.keys[key] < 0:
            raise BailError("a number that is none, or below 0", self.lineno)
        return self.keys[key]

    def expanded(self, value: Any) -> Any:
        """Return a list of the row as a list of its items; return any other value as it is."""
        if type(value) is not Sym:
            return value
        if value.kind.known_fields is not None:
            self.operate("length", value)  # None has no fields
            return [name for name, _ in value.kind.known_fields]
        name, *operands = self.builder.nodes[value.node]
        if name == "list":
            return [self.builder.sym(operand) for operand in operands]
        if not value.kind.only("list", "none") and self.assumed_key is None:
            raise self.unsupported("a loop over a value of the row that may be no list")
        return [self.operate("item", value, index) for index in range(self.number(self.operate("length", value)))]

    def concat(self, parts: list[Any]) -> Any:
        """Join texts, or values of the row that are texts."""
        joined: list[Any] = []
        for is_text, neighbours in itertools.groupby(parts, lambda part: type(part) in TEXTS):
            if not is_text:
                joined += neighbours
                continue
            texts = list(neighbours)
            self.real(charge_text, sum(map(len, texts)))
            joined += [joined_text([piece for text in texts for piece in pieces(text)])] if any(texts) else []
        self.spend(len(joined))
        if not joined:
            return ""
        if len(joined) == 1 and (type(joined[0]) in TEXTS or joined[0].kind.only("str")):
            return joined[0]
        parts = [
            self.builder.sym(node)
            for part in joined
            for node in (self._part_nodes(part) if type(part) is TracedText else [self.node(part)])
        ]
        return self.operate("concat", *parts)

    def constant_or_sym(self, node: int) -> Any:
        """Return a node's value: a constant as it is, any other as a value of the row."""
        builder = self.builder
        if node in builder.constants:
            return builder.constants[node]
        return builder.data_values[node] if node in builder.data_values else builder.sym(node)


def _is_generator(value: Any) -> bool:
    kind = type(value)
    return hasattr(kind, "__next__") and not issubclass(kind, (Once, LoopContext, Cycler)) and not is_opaque(value)


def _plain_text(value: Any) -> str:
    if type(value) not in SCALARS or type(value) is int:
        charge_text(weigh(value))
    return text_of(value)
