"""The program in the making: each expression once, and what is known of it."""

from __future__ import annotations

import itertools
from typing import Any

from promptpress._jinja.bounds import MAX_TEXT
from promptpress._jinja.partial.compaction import MAX_NESTING, Compaction, node_operands
from promptpress._jinja.partial.values import TEXT, UNKNOWN, BailError, Kind, Sym, kind
from promptpress._jinja.program import Program

__all__ = ["Builder"]

MAX_NODES = 200_000
"""Expressions of a program: each loop is written out, so a template may ask for any number."""
MAX_CONSTANTS = MAX_TEXT
"""Characters of all constants and literals of a program: as many as a text may have that Jinja2 renders."""
MAX_WEIGHT = 1000
"""No node is said to be heavier."""

_BOOL, _INT, _LIST = kind("bool"), kind("int"), kind("list")
_TEXTS = Kind(frozenset({"list"}), item=TEXT)
_NUMBER = kind("int", "float")

_RESULTS: dict[str, Kind] = {
    **dict.fromkeys(
        [
            "text",
            "repr",
            "concat",
            "strip",
            "lstrip",
            "rstrip",
            "join",
            "join_texts",
            "replace",
            "lower",
            "upper",
            "title",
            "capitalize",
            "swapcase",
            "casefold",
            "title_filter",
            "tojson",
            "json_string",
            "kind",
        ],
        TEXT,
    ),
    **dict.fromkeys(
        ["startswith", "endswith", "contains", "eq", "ne", "lt", "le", "gt", "ge", "is", "not", "truth"], _BOOL
    ),
    **dict.fromkeys(["length", "index", "find", "rfind", "count", "to_int"], _INT),
    **dict.fromkeys(["split", "rsplit", "splitlines", "chars"], _TEXTS),
    **dict.fromkeys(["list", "reverse", "sort", "unique"], _LIST),
    **dict.fromkeys(["sub", "mul", "floordiv", "truediv", "mod", "neg", "abs", "round", "sum"], UNKNOWN),
}

_CERTAIN: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(["strip", "lstrip", "rstrip"], (("str",), ("str", "none"))),
    **dict.fromkeys(["startswith", "endswith"], (("str",), ("str",))),
    **dict.fromkeys(["lower", "upper", "title", "capitalize"], (("str",),)),
    "replace": (("str",), ("str",), ("str",), ("int",)),
    "length": (("str", "list", "dict"),),
    "concat": (("str",),),
    "add": (("str",), ("str",)),
    **dict.fromkeys(
        ["eq", "ne", "not", "truth", "kind"], (("none", "bool", "int", "float", "str", "list", "dict"),) * 2
    ),
    "is": (("none", "bool", "int", "float", "str", "list", "dict", "other"),) * 2,
    "text": (("none", "bool", "int", "float", "str"),),
    "json_string": (("str",),),
    "repr": (("none", "bool", "int", "float", "str"),),
}
"""Kinds of operands with which an operation always has a value; others may bail, and then the row has to."""


class Builder:
    """Makes nodes: constants and expressions, each once.

    Args:
        columns: Names of the table's columns.

    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.nodes: list[tuple[Any, ...]] = []
        self.kinds: list[Kind] = []
        self.certain: list[bool] = []
        self.weights: list[int] = []
        """How many pieces and conditions each node is written as, if all that it shares is written again."""
        self.constant_size = 0
        self.constants: dict[int, Any] = {}
        self.reasons: dict[str, int] = {}
        self._known: dict[Any, int] = {}

    def column(self, number: int, kind: Kind) -> Sym:
        """The value of a column."""
        return self._sym(("column", number), kind, certain=True)

    def hole(self, number: int) -> Sym:
        """A text of the first column, which is a list of texts with as many as there are holes.

        Args:
            number: Its place in the list.

        Returns:
            The text.

        """
        column = self.column(0, _TEXTS).node
        return self._sym(("item", column, self.constant(number)), TEXT, certain=True)

    def expression(self, node: int) -> tuple[tuple[Any, ...], ...]:
        """Describe what a node computes without the numbers of this builder, so that other builders can make it too.

        Args:
            node: Its number.

        Returns:
            The nodes that it is computed of, each once, and the node itself last. Operands are places in this tuple.

        >>> builder = Builder(("q",))
        >>> builder.expression(builder.operation("length", builder.column(0, UNKNOWN).node).node)
        (('column', 0), ('length', 0))

        """
        places: dict[int, int] = {}
        out: list[tuple[Any, ...]] = []
        todo = [node]
        while todo:
            number = todo[-1]
            name, *operands = self.nodes[number]
            missing = [one for one in node_operands(self.nodes[number]) if type(one) is int and one not in places]
            if number not in places and missing:
                todo += reversed(missing)
                continue
            todo.pop()
            if number in places:
                continue
            if name == "const":
                value = operands[0]
                # The text says what equality doesn't: True is no 1, and 0.0 no -0.0.
                out.append((name, tuple(value) if type(value) is list else value, type(value), repr(value)))
            elif name == "column":
                out.append(self.nodes[number])
            else:
                out.append((name, *(places[one] if type(one) is int else one for one in operands)))
            places[number] = len(out) - 1
        return tuple(out)

    def of_expression(self, expression: tuple[tuple[Any, ...], ...]) -> int:
        """Make the nodes of an expression.

        Args:
            expression: As `expression` gives it.

        Returns:
            The number of its last node.

        """
        numbers: list[int] = []
        for name, *operands in expression:
            if name == "const":
                numbers.append(self.constant(list(operands[0]) if operands[1] is list else operands[0]))
            elif name == "column":
                numbers.append(self.column(operands[0], UNKNOWN).node)
            else:
                numbers.append(
                    self.operation(name, *(numbers[one] if type(one) is int else one for one in operands)).node
                )
        return numbers[-1]

    def is_too_deep(self, node: int) -> bool:
        """Return true if the core can't evaluate a node, because expressions are nested too deep in it."""
        made = Compaction(self.nodes, self.weights, [node])
        return made.depths[made.numbers[node]] > MAX_NESTING

    def constant(self, value: Any) -> int:
        """The node of a constant: a scalar, or a list of such.

        Args:
            value: The constant.

        Returns:
            The node's number.

        """
        node = ("const", value)
        # The text says what equality doesn't: 0.0 is no -0.0. A long text would take long to be written each time.
        key = ("const", type(value), value if type(value) is str else repr(value))
        if key not in self._known:
            self.add_constant(len(value) if type(value) is str else len(key[2]))
        found = self._number(node, _kind_of(value), certain=True, key=key)
        self.constants[found] = value
        return found

    def operation(self, name: str, *operands: int | None) -> Sym:
        """An expression.

        Args:
            name: The operation's.
            operands: Numbers of nodes.

        Returns:
            Its value. `is_certain` says whether it always has one.

        """
        known = self.kinds
        result = _RESULTS.get(name, UNKNOWN)
        if name == "add":
            result = _sum_of(*(known[operand] for operand in operands if operand is not None))
        elif name in ("item", "slice", "first", "last"):
            result = self._part_of(name, operands)
        elif name == "select":
            result = _either(known[operands[1] or 0], known[operands[2] or 0])
        wanted = _CERTAIN.get(name)
        certain = wanted is not None
        for at, operand in enumerate(operands):
            if wanted is not None and operand is not None:
                certain &= known[operand].only(*wanted[min(at, len(wanted) - 1)])
        if name in ("select", "list"):
            certain = True  # as its operands are, which are checked where they are made
        return self._sym((name, *operands), result, certain=certain)

    def is_certain(self, node: int) -> bool:
        """Whether a node always has a value, given that its operands have."""
        return self.certain[node]

    def reason(self, text: str) -> int:
        """The number of a reason."""
        return self.reasons.setdefault(text, len(self.reasons))

    def add_constant(self, size: int) -> None:
        """Count what a constant or a literal adds to the program.

        Args:
            size: Its characters.

        Raises:
            BailError: If constants and literals are too long together.

        """
        self.constant_size += size
        if self.constant_size > MAX_CONSTANTS:
            raise BailError(f"the program would have constants of more than {MAX_CONSTANTS:,} characters")

    def program(self, block: list[tuple[Any, ...]]) -> Program:
        """Make the program of the nodes that statements need.

        Args:
            block: The statements.

        Returns:
            The program.

        """
        made = Compaction(self.nodes, self.weights, _roots(block))
        if max(made.depths, default=0) > MAX_NESTING:
            block = self._without_deep(block, made)
            made = Compaction(self.nodes, self.weights, _roots(block))
        return Program(self.columns, tuple(made.nodes), tuple(_renumbered(block, made)), tuple(self.reasons))

    def _without_deep(self, block: list[tuple[Any, ...]], made: Compaction) -> list[tuple[Any, ...]]:
        """Statements of which those give the row up that ask for expressions the core can't evaluate."""
        out: list[tuple[Any, ...]] = []
        for name, *operands in block:
            if name not in ("lit", "bail") and made.depths[made.numbers[operands[0]]] > MAX_NESTING:
                out.append(("bail", self.reason(f"expressions are nested more than {MAX_NESTING} deep")))
                break
            ways = [self._without_deep(way, made) for way in operands[1:]]
            out.append((name, operands[0], *ways))
        return out

    def _sym(self, node: tuple[Any, ...], kind: Kind, *, certain: bool) -> Sym:
        return Sym(self._number(node, kind, certain=certain), kind)

    def _number(self, node: tuple[Any, ...], kind: Kind, *, certain: bool, key: Any = None) -> int:
        key = node if key is None else key
        found = self._known.get(key)
        if found is None:
            if len(self.nodes) >= MAX_NODES:
                raise BailError(f"the program would have more than {MAX_NODES:,} expressions")
            found = self._known[key] = len(self.nodes)
            self.nodes.append(node)
            self.kinds.append(kind)
            self.certain.append(certain)
            self.weights.append(self._weight(node))
        return found

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
    """The nodes that statements ask for."""
    roots: set[int] = set()
    todo = [block]
    while todo:
        for name, *operands in todo.pop():
            if name not in ("lit", "bail"):
                roots.add(operands[0])
                todo += operands[1:]
    return roots


def _renumbered(block: list[tuple[Any, ...]], made: Compaction) -> list[tuple[Any, ...]]:
    """Statements by the new numbers of nodes, with neighbouring literals joined."""
    out: list[tuple[Any, ...]] = []
    for is_text, statements in itertools.groupby(block, lambda statement: statement[0] == "lit"):
        if is_text:
            out.append(("lit", "".join(text for _, text in statements)))
            continue
        for statement in statements:
            name, operand, *ways = statement
            if name == "bail":
                out.append(statement)
            else:
                out.append((name, made.numbers[operand], *(_renumbered(way, made) for way in ways)))
    return out
