"""The operands of a program's operations: constants, values of the row, and results of Jinja's own code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from jinja2 import nodes
from jinja2.utils import Cycler

from promptpress._jinja.compiler.builder import Builder
from promptpress._jinja.compiler.iterators import LoopContext, Once, generated_values
from promptpress._jinja.compiler.program import Statement
from promptpress._jinja.compiler.texts import holds_opaque, plain_text
from promptpress._jinja.compiler.trail import Trail
from promptpress._jinja.compiler.values import (
    BailError,
    Closed,
    NeedsKeyError,
    Sym,
    UnsupportedError,
    inspections,
    is_opaque,
)
from promptpress._jinja.sandbox.bounds import BUDGET, charge, charge_text, weigh
from promptpress._jinja.traced.values import TracedText, is_safe, is_traced, pieces, plain
from promptpress._jinja.traced.values import joined as joined_text
from promptpress._jinja.traced.written import text_of

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
        """Count work other than visiting nodes of the template's tree; a visit costs 1.

        Raises:
            UnsupportedError: If compiling has cost too much.
        """
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise self.unsupported(f"it takes more than {MAX_STEPS:,} steps to evaluate")

    def unsupported(self, what: str) -> UnsupportedError:
        """Return the error for an operation that isn't compiled."""
        return UnsupportedError(what, self.lineno)

    def real(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call code of Jinja's or Python's, as it would be called while a row is rendered.

        Raises:
            BailError: If the function raises, or has inspected a value of the row.
        """
        before = inspections()
        try:
            result = function(*arguments, **named)
            is_iterator = hasattr(type(result), "__next__") and type(result) not in (Once, LoopContext, Cycler)
            if is_iterator and not is_opaque(result):
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

        Raises:
            BailError: If the cost is too high: a list may contain another one any number of times.
        """
        for value in values:
            if type(value) not in SCALARS:
                self.real(_charge_parts, value)

    # Expressions

    def node(self, value: Any) -> int:
        """Return the node of a value of the row, or of a constant.

        Raises:
            UnsupportedError: If programs can't represent the value.
        """
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

    def length(self, value: Sym) -> int:
        """Return the length of a list, for which the program is made.

        Raises:
            NeedsKeyError: If the length isn't known yet.
        """
        return self.number(self.operate("length", value))

    def number(self, value: Sym) -> int:
        """Return a number, for which the program is made.

        Raises:
            NeedsKeyError: If the number isn't known yet.
        """
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


def _plain_text(value: Any) -> str:
    if type(value) not in SCALARS or type(value) is int:
        charge_text(weigh(value))
    return text_of(value)


def _charge_parts(value: Any) -> None:
    charge(weigh(value) >> 4)
