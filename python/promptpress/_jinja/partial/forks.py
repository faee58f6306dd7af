"""Conditions of the row: where it decides, the evaluation goes both ways and joins again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.operands import SCALARS, Keys, Operands, Statement
from promptpress._jinja.partial.values import (
    MISSING,
    BailError,
    Choice,
    LoopControl,
    MarkedSafe,
    Sym,
    asked,
    forget,
)

__all__ = ["Bail", "Forks", "Piece"]

Piece = Any
"""A literal (`str`), a node (`int`), or `(condition, pieces, pieces)`."""


class Bail(NamedTuple):
    """Where rows go to Jinja2: the line, the node of the template's tree, and why."""

    line: int
    node: str
    reason: str


class Forks(Operands):
    """Goes both ways.

    Args:
        builder: As `Operands` has it.
        keys: As `Operands` has it.

    """

    def __init__(self, builder: Builder, keys: Keys | None) -> None:
        super().__init__(builder, keys)
        self.out: list[Piece] | None = None
        """What is written, where it becomes a value; None: it is the program's output."""
        self.forks = 0
        self.bails: list[Bail] = []

    def condition(self, value: Any) -> bool | int:
        """The truth of a value: known, or a node.

        Args:
            value: Any.

        Returns:
            The truth, or the number of its node.

        """
        if type(value) is Choice:
            value = self.lift(self.truth, value)
        if type(value) is MarkedSafe:
            value = value.value
        if type(value) is not Sym:
            return bool(self.real(bool, value))
        if value.kind.only("none"):
            return False
        node = value.node if value.kind.only("bool") else self.operate("truth", value).node
        return self.known.get(node, node) if type(node) is int else node

    def truth(self, value: Any) -> Any:
        """The truth of a value, as a value."""
        found = self.condition(value)
        return found if type(found) is bool else Sym(found, self.builder.kinds[found])

    def negated(self, value: Any) -> Any:
        """`not value`."""
        found = self.condition(value)
        if type(found) is bool:
            return not found
        inner = self.builder.nodes[found]
        if inner[0] == "not" and self.builder.kinds[inner[1]].only("bool"):
            return Sym(inner[1], self.builder.kinds[inner[1]])
        return self.operate("not", Sym(found, self.builder.kinds[found]))

    # Forks

    def lift(self, operation: Callable[..., Any], *values: Any) -> Any:
        """Apply an operation to values; where one is a choice, to both of what it may be.

        Args:
            operation: What is applied.
            values: Its operands.

        Returns:
            What it gives, or a choice of what it gives.

        """
        for at, value in enumerate(values):
            if type(value) is Choice:

                def side(alternative: Any, at: int = at) -> Callable[[], Any]:
                    return lambda: self.lift(operation, *values[:at], alternative, *values[at + 1 :])

                return self.branch(value.condition, side(value.then), side(value.otherwise))
        return operation(*values)

    def branch(self, condition: bool | int, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """Go both ways, unless it is known which one a row takes.

        Args:
            condition: The truth, or the number of its node.
            then: What happens where it is true.
            otherwise: Where it isn't.

        Returns:
            What either gives, merged.

        Raises:
            BailError: If either way ends.

        """
        if type(condition) is bool:
            return then() if condition else otherwise()
        if condition in self.known:
            return then() if self.known[condition] else otherwise()
        inner = self.builder.nodes[condition]
        if inner[0] == "not" and self.builder.kinds[inner[1]].only("bool"):
            return self.branch(inner[1], otherwise, then)
        before = (self.block, self.out, self.state, self.known)
        sides = [self._side(condition, truth, way, before) for truth, way in ((True, then), (False, otherwise))]
        self.block, self.out, self.state, self.known = before
        (block_then, out_then, then_side), (block_else, out_else, else_side) = sides
        if block_then or block_else:
            self.block.append(("if", condition, block_then, block_else))
        if self.out is not None and (out_then or out_else):
            self.out.append((condition, out_then, out_else))
        if then_side is None and else_side is None:
            raise BailError("either way of a condition ends", self.lineno)
        if then_side is None or else_side is None:
            alive = then_side or else_side
            assert alive is not None
            value, self.state, self.known = alive
            return value
        self.state = {
            key: self._merged(condition, then_side[1].get(key, MISSING), else_side[1].get(key, MISSING))
            for key in {**then_side[1], **else_side[1]}
        }
        return self._merged(condition, then_side[0], else_side[0])

    def _side(
        self, condition: int, truth: bool, way: Callable[[], Any], before: tuple[Any, ...]
    ) -> tuple[list[Statement], list[Piece], tuple[Any, dict[Any, Any], dict[int, bool]] | None]:
        """Go one way. Returns what it does, what it writes, and its value, state and knowledge unless it ends."""
        _, out, state, known = before
        block: list[Statement] = []
        pieces: list[Piece] = []
        self.block, self.out = block, pieces if out is not None else None
        self.state, self.known = dict(state), {**known, condition: truth}
        self.forks += 1
        before_asked = asked()
        try:
            value = way()
        except BailError as bail:
            forget(before_asked)
            self.bail(bail, block)
            return block, pieces, None
        except LoopControl as control:
            self.bail(self.unsupported(f"the row decides about a {control}"), block)
            return block, pieces, None
        finally:
            self.forks -= 1
        return block, pieces, (value, self.state, self.known)

    def bail(self, bail: BailError, block: list[Statement]) -> None:
        """Hand the row over to Jinja2 from here on."""
        lineno = bail.lineno or self.lineno
        self.bails.append(Bail(lineno, self.at, bail.reason))
        block.append(("bail", self.builder.reason(f"line {lineno}: {bail.reason}")))

    def _merged(self, condition: int, then: Any, otherwise: Any) -> Any:
        """One value for both ways."""
        if then is otherwise or _are_equal(then, otherwise):
            return then
        is_then, is_else = type(then) is Sym, type(otherwise) is Sym
        if is_then and is_else and then.node == otherwise.node:
            return then if then.kind == otherwise.kind else Sym(then.node, self.builder.kinds[then.node])
        if type(then) is bool and type(otherwise) is bool:
            found = Sym(condition, self.builder.kinds[condition])
            return self.truth(found) if then else self.negated(found)
        scalar = (is_then or type(then) in SCALARS) and (is_else or type(otherwise) in SCALARS)
        if scalar:
            then_node, else_node = self.node(then), self.node(otherwise)
            return self.builder.operation("select", condition, then_node, else_node)
        return Choice(condition, then, otherwise)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether they are the same constant; `repr` tells 0.0 from -0.0."""
    return type(one) is type(other) and type(one) in SCALARS and one == other and repr(one) == repr(other)
