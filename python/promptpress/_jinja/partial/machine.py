"""Where an evaluation stands, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from promptpress._jinja.partial.forks import Forks, Piece
from promptpress._jinja.partial.texts import holds_opaque, plain_text
from promptpress._jinja.partial.values import Choice, MarkedSafe, Sym

__all__ = ["Machine"]


class Machine(Forks):
    """Writes texts and values of the row: into the program, or into a value.

    Args:
        builder: Takes the expressions.
        keys: The values of expressions that the program is made for; None: it is made for none.

    """

    def write(self, value: Any) -> None:
        """Write a value's text.

        Args:
            value: A text, a value of the row, or whatever has a text.

        """
        if type(value) is Choice:
            self.lift(self.write, value)
        elif type(value) is MarkedSafe:
            self.write(value.value)
        elif type(value) is Sym:
            self._write_node(self.node(value))
        elif type(value) is str:
            self._write_text(value)
        elif type(value) is Markup:
            self._write_text(str(value))
        elif type(value) in (list, tuple, dict) and holds_opaque(value):
            self.write(plain_text(self, value))
        else:
            self._write_text(self.real(str, value))

    def _write_text(self, text: str) -> None:
        if not text:
            return
        if self.out is not None:
            self.out.append(text)
        elif self.block and self.block[-1][0] == "lit":
            self.block[-1] = ("lit", self.block[-1][1] + text)
        else:
            self.block.append(("lit", text))

    def _write_node(self, node: int) -> None:
        if self.out is not None:
            self.out.append(self.text(Sym(node, self.builder.kinds[node])).node)
            return
        name, *operands = self.builder.nodes[node]
        if name == "const":
            self._write_text(str(operands[0]))
        elif name == "concat":
            for operand in operands:
                self._write_node(operand)
        elif name == "text":
            self._write_node(operands[0])
        elif name == "select":
            condition, then, otherwise = operands
            self.branch(condition, lambda: self._write_node(then), lambda: self._write_node(otherwise))
        else:
            if self.block and self.block[-1] == ("check", node):
                self.block.pop()
            self.block.append(("emit", node))

    def captured(self, write: Callable[[], object]) -> Any:
        """What is written, as a value.

        Args:
            write: Writes it.

        Returns:
            A text, or a value of the row that is one.

        """
        outer, self.out = self.out, []
        try:
            write()
            pieces = self.out
        finally:
            self.out = outer
        return self._joined(pieces)

    def _joined(self, pieces: list[Piece]) -> Any:
        parts: list[Any] = []
        for piece in pieces:
            part = piece
            if type(piece) is int:
                part = Sym(piece, self.builder.kinds[piece])
            elif type(piece) is tuple:
                condition, then, otherwise = piece
                part = self._merged(condition, self._joined(then), self._joined(otherwise))
            if type(part) is str and parts and type(parts[-1]) is str:
                parts[-1] += part
            elif not (type(part) is str and not part):
                parts.append(part)
        return self.concat(parts)
