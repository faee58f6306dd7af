"""The machine of an evaluation: its state, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpress._jinja.compiler.builder import Builder
from promptpress._jinja.compiler.compaction import SMALL
from promptpress._jinja.compiler.forks import Forks, Piece
from promptpress._jinja.compiler.operands import Keys
from promptpress._jinja.compiler.values import Choice, MarkedSafe, Sym
from promptpress._jinja.traced.values import TracedText, is_safe, is_traced, pieces

MAX_WRITTEN_FORKS = 50
"""Nesting of conditions up to which the text of another condition is written in parts."""


class Machine(Forks):
    """Writes texts and values of the row: into the program, or into a value."""

    def __init__(self, builder: Builder, keys: Keys | None) -> None:
        super().__init__(builder, keys)
        self._written: set[int] = set()
        """Nodes of texts that were written in parts."""

    def write(self, value: Any) -> None:
        """Write the text of a value of any kind."""
        if type(value) is Choice:
            self.lift(self.write, value)
        elif type(value) is MarkedSafe:
            self.write(value.value)
        elif type(value) is Sym:
            self._write_node(self.node(value))
        elif type(value) is str or type(value) is TracedText:
            self._write_text(value)
        elif is_traced(value) or is_safe(value):
            self._write_text(str(value))
        else:
            text = self.text(value)
            if type(text) is Sym:
                self._write_node(text.node)
            else:
                self._write_text(text if type(text) is TracedText else str(text))

    def _write_text(self, text: str) -> None:
        if not text:
            return
        if self.out is not None:
            self.out.append(text)
        else:
            self.builder.add_constant(len(text))
            for part, origin in pieces(text):
                self.block.append(("lit", part) if origin is None else ("data", part, self.builder.origin(origin)))

    def _write_node(self, node: int) -> None:
        if self.out is not None:
            self.out.append(self.text(self.builder.sym(node)).node)
            return
        # Parts needn't be concatenated for each row. A large text that is needed again is concatenated once.
        todo = [node]
        while todo:
            node = todo.pop()
            name, *operands = self.builder.nodes[node]
            if name == "const":
                self._write_text(str(operands[0]))
            elif name == "data":
                self._write_text(str(self.builder.data_values[node]))
            elif name == "text":
                todo.append(operands[0])
            elif name == "concat" and self._may_be_in_parts(node):
                todo += reversed(operands)
            elif name == "select" and self.forks < MAX_WRITTEN_FORKS and self._may_be_in_parts(node):
                self._write_select(*operands)
            else:
                if self.block and self.block[-1] == ("check", node):
                    self.block.pop()
                self.block.append(("emit", node))

    def _write_select(self, condition: int, then: int, otherwise: int) -> None:
        self.branch(condition, lambda: self._write_node(then), lambda: self._write_node(otherwise))

    def _may_be_in_parts(self, node: int) -> bool:
        """Return true if a node is small, or wasn't written before: so no program grows faster than its nodes."""
        if self.builder.weights[node] <= SMALL:
            return True
        if node in self._written:
            return False
        self._written.add(node)
        return True

    def captured(self, write: Callable[[], object]) -> Any:
        """Return what a function writes, as a text or a value of the row."""
        outer, self.out = self.out, []
        try:
            write()
            pieces = self.out
        finally:
            self.out = outer
        return self._joined(pieces)

    def _joined(self, pieces: list[Piece]) -> Any:
        parts: list[Any] = []
        floor = len(self.builder.nodes)
        for piece in pieces:
            part = piece
            if type(piece) is int:
                part = self.builder.sym(piece)
            elif type(piece) is tuple:
                condition, then, otherwise = piece
                part = self._merged(condition, self._joined(then), self._joined(otherwise), floor)
            parts.append(part)
        return self.concat(parts)
