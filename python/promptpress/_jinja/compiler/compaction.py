"""The last step of compiling: keeps only the nodes that a program's statements need, and flattens concatenations.

While a template is evaluated, a text that grows is a chain: each text is the previous one and an addition, so that a
step has the same cost however long the text is. A text that is part of only one other text is merged into that text
here, because the core then copies it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from promptpress._jinja.compiler.program import Node

MAX_NESTING = 250
"""Largest nesting of expressions. The core allows a little more."""
SMALL = 16
"""Pieces of a text that is repeated wherever it is needed, instead of being computed once and kept."""


def node_operands(node: Node) -> tuple[Any, ...]:
    """Return the numbers of the nodes that a node depends on.

    >>> node_operands(("strip", 4, 2)), node_operands(("column", 3))
    ((4, 2), ())
    """
    return () if node[0] in ("const", "column", "data") else node[1:]


class Compaction:
    """The nodes that some roots need.

    Args:
        nodes: All nodes. The operands of each are earlier nodes.
        weights: Their weights, as in `Builder.weights`.
        roots: The numbers of nodes that are needed.

    >>> nodes = [("column", 0), ("const", "a"), ("concat", 0, 1), ("const", "b"), ("concat", 2, 3)]
    >>> made = Compaction(nodes, [1, 1, 2, 1, 3], [4])
    >>> made.nodes[made.numbers[4]], made.nodes[3], made.depths
    (('concat', 0, 3), ('const', 'ab'), [0, 0, 0, 0, 1])
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
