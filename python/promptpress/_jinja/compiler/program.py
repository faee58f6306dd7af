"""Programs that templates are compiled to and the core runs, and the builder that makes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from promptpress._core import JINJA_OPERATIONS
from promptpress._jinja.compiler.values import TEXT, UNKNOWN, BailError, Kind, Sym, kind
from promptpress._jinja.sandbox.bounds import MAX_TEXT
from promptpress._jinja.traced_values import Origin, traced

Node = tuple[Any, ...]
"""An operation's name and its operands; an int among them is the number of an earlier node, but for constants."""

Statement = tuple[Any, ...]
"""One of these, of which a text of data has the number of its origin: `("lit", text)`, `("data", text, origin)`,
`("emit", node)`, `("check", node)`, `("if", node, block, block)`, `("bail", reason)`.
"""


@dataclass(frozen=True)
class Program:
    """A template, specialised for the rows of one kind.

    The program writes a row's text exactly as Jinja2 does, or bails: then Jinja2 itself renders the row. Each node is
    evaluated at most once per row, and only if it is needed. `reasons` say why rows go to Jinja2, by the numbers of
    `bail` statements; `origins` are those of texts that the program itself holds and that are data.
    """

    columns: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    block: tuple[Statement, ...] = ()
    reasons: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


MAX_NESTING = 250
"""Largest nesting of expressions. The core allows a little more."""
SMALL = 16
"""Pieces of a text that is repeated wherever it is needed, instead of being computed once and kept."""


def node_operands(node: Node) -> tuple[Any, ...]:
    """Return the numbers of the nodes that a node depends on."""
    return () if node[0] in ("const", "column", "data") else node[1:]


class Compaction:
    """The nodes that some roots need, with flat concatenations; the operands of each node are earlier nodes.

    While a template is evaluated, a text that grows is a chain: each text is the previous one and an addition, so that
    a step has the same cost however long the text is. A text that is part of only one other text is merged into that
    text here, because the core then copies it once.
    """

    def __init__(self, nodes: Sequence[Node], weights: Sequence[int], roots: Iterable[int]) -> None:
        self._nodes = nodes
        roots = set(roots)
        uses = self._uses(roots)
        self._is_part = {
            number
            for number, count in uses.items()
            if nodes[number][0] == "concat" and (weights[number] <= SMALL or (count == 1 and number not in roots))
        }
        self.nodes: list[Node] = []
        """The nodes, with new numbers."""
        self.numbers: dict[int, int] = {}
        """The new numbers of nodes, by their old ones."""
        self.depths: list[int] = []
        """Nesting of the expressions in each node, by its new number."""
        self._constants: dict[str, int] = {}
        self._add(roots)

    def _uses(self, roots: set[int]) -> dict[int, int]:
        uses = dict.fromkeys(roots, 0)
        todo = list(roots)
        while todo:
            for operand in node_operands(self._nodes[todo.pop()]):
                if type(operand) is int:
                    if operand not in uses:
                        uses[operand] = 0
                        todo.append(operand)
                    uses[operand] += 1
        return uses

    def _add(self, roots: set[int]) -> None:
        """Add what the roots need. A part of a text is added alone only if something else needs it."""
        operands: dict[int, list[Any]] = {}
        todo = list(roots)
        while todo:
            number = todo.pop()
            if number in operands:
                continue
            node = self._nodes[number]
            parts = list(self._parts(number)) if node[0] == "concat" else list(node_operands(node))
            operands[number] = parts
            todo += [part for part in parts if type(part) is int]
        for number in sorted(operands):
            node = self._nodes[number]
            if node_operands(node):
                new = [self.numbers[part] if type(part) is int else part for part in operands[number]]
                node = (node[0], *(self._joined(new) if node[0] == "concat" else new))
            self.numbers[number] = self._append(node)

    def _parts(self, number: int) -> Iterator[int]:
        """Yield the operands of a concatenation, with parts replaced by their own operands."""
        todo = list(reversed(self._nodes[number][1:]))
        while todo:
            part = todo.pop()
            if part in self._is_part:
                todo += reversed(self._nodes[part][1:])
            else:
                yield part

    def _joined(self, parts: list[int]) -> Iterator[int]:
        """Yield operands with neighbouring constant texts joined."""
        texts: list[int] = []
        for part in [*parts, None]:
            node = ("end",) if part is None else self.nodes[part]
            if node[0] == "const" and type(node[1]) is str:
                texts.append(part)  # type: ignore[arg-type]  # the end is no constant
                continue
            if len(texts) == 1:
                yield texts[0]
            elif texts:
                yield self._constant("".join(self.nodes[text][1] for text in texts))
            texts = []
            if part is not None:
                yield part

    def _constant(self, text: str) -> int:
        if text not in self._constants:
            self._constants[text] = self._append(("const", text))
        return self._constants[text]

    def _append(self, node: Node) -> int:
        inner = [self.depths[operand] for operand in node_operands(node) if type(operand) is int]
        self.depths.append(1 + max(inner) if inner else 0)
        self.nodes.append(node)
        return len(self.nodes) - 1


MAX_NODES = 200_000
"""Expressions of a program. Loops are unrolled, so a template may need any number."""
MAX_CONSTANTS = MAX_TEXT
"""Characters of all constants and literals of a program: as many as a text may have if Jinja2 renders it."""
_WITHOUT_NODES = frozenset({"lit", "data", "bail"})
"""Statements that need no node."""
MAX_WEIGHT = 1000
"""Larger weights are cut off."""

_INT = kind("int")
_TEXTS = Kind(frozenset({"list"}), item=TEXT)
_RESULTS = {
    name: _TEXTS if operation.result == "list of str" else kind(operation.result)
    for name, operation in JINJA_OPERATIONS.items()
    if operation.result is not None
}
"""The kind of each operation's result, where it is always the same."""

_CERTAIN = {name: operation.certain for name, operation in JINJA_OPERATIONS.items()}
"""Kinds of operands for which an operation never raises; for others it may bail, and then the row has to."""


class Builder:
    """Makes the nodes of a program over columns: constants and expressions, each once."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.nodes: list[tuple[Any, ...]] = []
        self.kinds: list[Kind] = []
        self.certain: list[bool] = []
        """True for nodes that never raise if their operands don't."""
        self.weights: list[int] = []
        """The number of pieces and conditions that each node consists of, if shared parts are counted each time."""
        self.constant_size = 0
        self.constants: dict[int, Any] = {}
        self.data_values: dict[int, Any] = {}
        """The values of nodes of data that the program itself holds, with their origins."""
        self.reasons: dict[str, int] = {}
        self.origins: dict[Origin, int] = {}
        """The origins of data that the program itself holds, with their numbers."""
        self._numbers: dict[Any, int] = {}

    def column(self, number: int, kind: Kind) -> Sym:
        """Return the value of a column."""
        return self._sym(("column", number), kind, certain=True)

    def slot(self, number: int) -> Sym:
        """Return a text of the first column, which is a list with a text for each slot."""
        column = self.column(0, _TEXTS).node
        return self._sym(("item", column, self.constant(number)), TEXT, certain=True)

    def expression(self, node: int) -> tuple[tuple[Any, ...], ...]:
        """Describe what a node computes without the numbers of this builder, so that other builders can make it too.

        The result has the nodes that the value depends on, each once, and the node itself last. Operands are indices
        into it.
        """
        indices: dict[int, int] = {}
        out: list[tuple[Any, ...]] = []
        todo = [node]
        while todo:
            number = todo[-1]
            name, *operands = self.nodes[number]
            missing = [item for item in node_operands(self.nodes[number]) if type(item) is int and item not in indices]
            if number not in indices and missing:
                todo += reversed(missing)
                continue
            todo.pop()
            if number in indices:
                continue
            if name in ("const", "data"):
                value = operands[0]
                # The text tells apart what equality doesn't: True and 1, 0.0 and -0.0.
                out.append(("const", tuple(value) if type(value) is list else value, type(value), repr(value)))
            elif name == "column":
                out.append(self.nodes[number])
            else:
                out.append((name, *(indices[item] if type(item) is int else item for item in operands)))
            indices[number] = len(out) - 1
        return tuple(out)

    def of_expression(self, expression: tuple[tuple[Any, ...], ...]) -> int:
        """Make the nodes that `expression` describes; return the number of the last one."""
        numbers: list[int] = []
        for name, *operands in expression:
            if name == "const":
                numbers.append(self.constant(list(operands[0]) if operands[1] is list else operands[0]))
            elif name == "column":
                numbers.append(self.column(operands[0], UNKNOWN).node)
            else:
                new = (numbers[item] if type(item) is int else item for item in operands)
                numbers.append(self.operation(name, *new).node)
        return numbers[-1]

    def is_too_deep(self, node: int) -> bool:
        """Return true if expressions are nested too deep in a node for the core."""
        made = Compaction(self.nodes, self.weights, [node])
        return made.depths[made.numbers[node]] > MAX_NESTING

    def constant(self, value: Any) -> int:
        """Return the node of a constant: a scalar, or a list of scalars."""
        node = ("const", value)
        # The text tells apart what equality doesn't: 0.0 and -0.0. The text of a long text would take long to make.
        key = ("const", type(value), value if type(value) is str else repr(value))
        if key not in self._numbers:
            self.add_constant(len(value) if type(value) is str else len(key[2]))
        number = self._number(node, _kind_of(value), certain=True, key=key)
        self.constants[number] = value
        return number

    def data(self, value: Any, origin: Origin) -> Sym:
        """Return a scalar that data brought, and that the program itself holds."""
        number = self.origin(origin)
        self.add_constant(len(value) if type(value) is str else len(repr(value)))
        node = ("data", value, number)
        key = (*node, type(value), repr(value))
        made = Sym(self._number(node, _kind_of(value), certain=True, key=key), _kind_of(value))
        self.data_values[made.node] = traced(value, origin)
        return made

    def origin(self, origin: Origin) -> int:
        """Return the number of an origin of data that the program itself holds."""
        return self.origins.setdefault(origin, len(self.origins))

    def operation(self, name: str, *operands: int | None) -> Sym:
        """Return the value of an expression; the operands are numbers of nodes."""
        kinds = self.kinds
        result = _RESULTS.get(name, UNKNOWN)
        if name == "add":
            result = _sum_of(*(kinds[operand] for operand in operands if operand is not None))
        elif name in ("item", "slice", "first", "last"):
            result = self._part_of(name, operands)
        elif name == "select":
            result = _either(kinds[operands[1] or 0], kinds[operands[2] or 0])
        wanted = _CERTAIN.get(name)
        certain = wanted is not None
        for index, operand in enumerate(operands):
            if wanted and operand is not None:
                certain &= kinds[operand].only(*wanted[min(index, len(wanted) - 1)])
        return self._sym((name, *operands), result, certain=certain)

    def sym(self, node: int) -> Sym:
        """Return the value of a node as a value of the row."""
        return Sym(node, self.kinds[node])

    def reason(self, text: str) -> int:
        """Return the number of a reason."""
        return self.reasons.setdefault(text, len(self.reasons))

    def add_constant(self, size: int) -> None:
        """Count the characters of a constant or a literal."""
        self.constant_size += size
        if self.constant_size > MAX_CONSTANTS:
            raise BailError(f"the program would have constants of more than {MAX_CONSTANTS:,} characters")

    def program(self, block: list[tuple[Any, ...]]) -> Program:
        """Make the program of the nodes that statements need."""
        made = Compaction(self.nodes, self.weights, _roots(block))
        if max(made.depths, default=0) > MAX_NESTING:
            block = self._without_deep(block, made)
            made = Compaction(self.nodes, self.weights, _roots(block))
        return Program(
            self.columns, tuple(made.nodes), tuple(_renumbered(block, made)), tuple(self.reasons), tuple(self.origins)
        )

    def _without_deep(self, block: list[tuple[Any, ...]], made: Compaction) -> list[tuple[Any, ...]]:
        """Replace statements that need expressions nested too deep for the core: they bail."""
        out: list[tuple[Any, ...]] = []
        for name, *operands in block:
            if name not in _WITHOUT_NODES and made.depths[made.numbers[operands[0]]] > MAX_NESTING:
                out.append(("bail", self.reason(f"expressions are nested more than {MAX_NESTING} deep")))
                break
            ways = [self._without_deep(way, made) for way in operands[1:]] if name == "if" else operands[1:]
            out.append((name, operands[0], *ways))
        return out

    def _sym(self, node: tuple[Any, ...], kind: Kind, *, certain: bool) -> Sym:
        return Sym(self._number(node, kind, certain=certain), kind)

    def _number(self, node: tuple[Any, ...], kind: Kind, *, certain: bool, key: Any = None) -> int:
        key = node if key is None else key
        number = self._numbers.get(key)
        if number is None:
            if len(self.nodes) >= MAX_NODES:
                raise BailError(f"the program would have more than {MAX_NODES:,} expressions")
            number = self._numbers[key] = len(self.nodes)
            self.nodes.append(node)
            self.kinds.append(kind)
            self.certain.append(certain)
            self.weights.append(self._weight(node))
        return number

    def _weight(self, node: tuple[Any, ...]) -> int:
        name, *operands = node
        if name == "select":
            operands = operands[1:]
        elif name not in ("concat", "text"):
            return 1
        weight: int = (name == "select") + sum(self.weights[operand] for operand in operands)
        return min(MAX_WEIGHT, weight)

    def _part_of(self, name: str, operands: tuple[int | None, ...]) -> Kind:
        whole = self.kinds[operands[0] or 0]
        if name == "slice":
            return whole
        if whole.only("str"):
            return TEXT
        if whole.only("list"):
            return whole.item or UNKNOWN
        if whole.only("dict") and operands[1] in self.constants:
            return whole.of_field(self.constants[operands[1]]) or UNKNOWN
        return UNKNOWN


def _kind_of(value: Any) -> Kind:
    names = {type(None): "none", bool: "bool", int: "int", float: "float", str: "str", list: "list"}
    if type(value) is list:
        items = {type(item) for item in value}
        return Kind(frozenset({"list"}), item=kind(*(names[item] for item in items)) if items else UNKNOWN)
    return kind(names[type(value)])


def _sum_of(left: Kind, right: Kind) -> Kind:
    if left.only("str") or right.only("str"):
        return TEXT
    if left.only("int", "bool") and right.only("int", "bool"):
        return _INT
    if left.only("list") or right.only("list"):
        return Kind(frozenset({"list"}), item=left.item if left.item == right.item else UNKNOWN)
    return UNKNOWN


def _either(left: Kind, right: Kind) -> Kind:
    if left == right:
        return left
    if left.names is None or right.names is None:
        return UNKNOWN
    same = left.item == right.item and left.fields == right.fields
    return Kind(left.names | right.names, left.item if same else None, left.fields if same else None)


def _roots(block: list[tuple[Any, ...]]) -> set[int]:
    """Return the nodes that statements need."""
    roots: set[int] = set()
    todo = [block]
    while todo:
        for name, *operands in todo.pop():
            if name not in _WITHOUT_NODES:
                roots.add(operands[0])
                todo += operands[1:]
    return roots


def _renumbered(block: list[tuple[Any, ...]], made: Compaction) -> list[tuple[Any, ...]]:
    """Return statements with the new numbers of nodes, and neighbouring literals joined."""
    out: list[tuple[Any, ...]] = []
    for is_text, statements in itertools.groupby(block, lambda statement: statement[0] == "lit"):
        if is_text:
            out.append(("lit", "".join(text for _, text in statements)))
            continue
        for statement in statements:
            name, operand, *ways = statement
            if name in _WITHOUT_NODES:
                out.append(statement)
            else:
                out.append((name, made.numbers[operand], *(_renumbered(way, made) for way in ways)))
    return out
