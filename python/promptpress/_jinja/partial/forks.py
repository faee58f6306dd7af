"""Conditions of the row: where it decides, the evaluation goes both ways and joins again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.operands import SCALARS, Keys, Operands, Statement
from promptpress._jinja.partial.values import (
    MAX_WAYS,
    MISSING,
    BailError,
    Choice,
    LoopControl,
    MarkedSafe,
    Sym,
    UnsupportedError,
    asked,
    forget,
    kind,
)

__all__ = ["Bail", "Forks", "Piece"]

MAX_FORKS = 150
"""Conditions within conditions: the core allows a few more, and Python's stack about as many."""

_LIST = kind("list")

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
                if value.ways > MAX_WAYS:
                    raise self.unsupported(
                        f"a list, dict or object that conditions decide in more than {MAX_WAYS} ways"
                    )

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
        if self.forks >= MAX_FORKS:
            raise self.unsupported(f"conditions within conditions, more than {MAX_FORKS} deep")
        self.spend(1)
        before = (self.block, self.out)
        floor = len(self.builder.nodes)
        sides = [self._side(condition, truth, way, before[1]) for truth, way in ((True, then), (False, otherwise))]
        self.block, self.out = before
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
            value, state, known = alive
            self.state.redo(state)
            self.known.redo(known)
            return value
        for key in {**then_side[1], **else_side[1]}:
            present = self.state.get(key, MISSING)
            then_value, else_value = then_side[1].get(key, present), else_side[1].get(key, present)
            self.state[key] = self._merged(condition, then_value, else_value, floor)
        return self._merged(condition, then_side[0], else_side[0], floor)

    def _side(
        self, condition: int, truth: bool, way: Callable[[], Any], out: list[Piece] | None
    ) -> tuple[list[Statement], list[Piece], tuple[Any, dict[Any, Any], dict[Any, Any]] | None]:
        """Go one way, and back.

        Args:
            condition: The number of its node.
            truth: What it is on this way.
            way: What happens.
            out: What takes the text where it becomes a value.

        Returns:
            What it does, what it writes, and its value with its changes of the state and of what is known; instead of
            these None if the way ends.

        """
        block: list[Statement] = []
        pieces: list[Piece] = []
        self.block, self.out = block, pieces if out is not None else None
        marks = self.state.mark(), self.known.mark()
        self.known[condition] = truth
        self.forks += 1
        before_asked = asked()
        ended = True
        value = None
        try:
            value = way()
            ended = False
        except BailError as bail:
            forget(before_asked)
            self.bail(bail, block)
        except LoopControl as control:
            self.bail(self.unsupported(f"the row decides about a {control}"), block)
        finally:
            self.forks -= 1
            state, known = self.state.undo(marks[0]), self.known.undo(marks[1])
        return block, pieces, None if ended else (value, state, known)

    def bail(self, bail: BailError, block: list[Statement]) -> None:
        """Hand the row over to Jinja2 from here on."""
        lineno = bail.lineno or self.lineno
        self.bails.append(Bail(lineno, self.at, bail.reason))
        block.append(("bail", self.builder.reason(f"line {lineno}: {bail.reason}")))

    def _merged(self, condition: int, then: Any, otherwise: Any, floor: int) -> Any:
        """Merge the values of both ways.

        Args:
            condition: The number of its node.
            then: The value where it is true.
            otherwise: The value where it isn't.
            floor: How many nodes there were before the ways made any.

        Returns:
            One value.

        """
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
            return self._select(condition, then, otherwise, floor)
        made = Choice(condition, then, otherwise)
        if made.ways > MAX_WAYS and made.is_list:
            try:
                return Sym(self._list_node(made), _LIST)
            except UnsupportedError:
                pass  # one of them holds what programs have no value for
        return made

    def _list_node(self, value: Any) -> int:
        """The node of a list that conditions decide: as a value of the row it is one, however many ways lead to it."""
        if type(value) is Choice:
            then, otherwise = self._list_node(value.then), self._list_node(value.otherwise)
            return self.builder.operation("select", value.condition, then, otherwise).node
        return self.node(value)

    def _select(self, condition: int, then: Any, otherwise: Any, floor: int) -> Any:
        """Select one of two scalars; of two texts, only where they differ.

        A text that a condition adds to would stand in either way, and with the next condition in four.
        """
        if _is_text(then) and _is_text(otherwise):
            for is_end in (False, True):
                common, then_rest, else_rest = self._common(then, otherwise, floor, is_end=is_end)
                if common is not None:
                    rest = self._merged(condition, self.concat(then_rest), self.concat(else_rest), floor)
                    return self.concat([rest, common] if is_end else [common, rest])
        return self.builder.operation("select", condition, self.node(then), self.node(otherwise))

    def _common(self, then: Any, otherwise: Any, floor: int, *, is_end: bool) -> tuple[Any, list[Any], list[Any]]:
        """Find the text that there was before both ways added to it.

        Args:
            then: The one text.
            otherwise: The other.
            floor: How many nodes there were before the ways made any.
            is_end: Whether the ways added something before the text, and not behind it.

        Returns:
            The common text, None if there is none; and what was added to it for the one and for the other.

        """
        base, then_added = self._taken_apart(then, floor, is_end=is_end)
        other, else_added = self._taken_apart(otherwise, floor, is_end=is_end)
        if base is None or base != other:
            return None, [], []
        # What both added alike is common too: a step for each of a thousand items would cost a million.
        alike = _alike(then_added, else_added, is_end=is_end)
        text = self.constant_or_sym(base)
        if is_end:
            split = len(then_added) - alike
            return self.concat([*then_added[split:], text]), then_added[:split], else_added[: len(else_added) - alike]
        return self.concat([text, *then_added[:alike]]), then_added[alike:], else_added[alike:]

    def _taken_apart(self, text: Any, floor: int, *, is_end: bool) -> tuple[int | None, list[Any]]:
        """The node of the text that a way began with, and what it added; None if it began with none."""
        if type(text) is not Sym:
            return None, []
        number, added = text.node, []
        while number >= floor:
            name, *operands = self.builder.nodes[number]
            if name != "concat" or len(operands) < 2:
                return None, []
            if is_end:
                number = operands.pop()
            else:
                operands.reverse()
                number = operands.pop()
            added += operands
        added = added if is_end else added[::-1]
        return number, [self.constant_or_sym(operand) for operand in added]


def _alike(one: list[Any], other: list[Any], *, is_end: bool) -> int:
    """Return how many parts of two texts are the same, from the start or from the end."""
    pairs = zip(reversed(one), reversed(other), strict=False) if is_end else zip(one, other, strict=False)
    count = 0
    for left, right in pairs:
        is_same = left.node == right.node if type(left) is Sym and type(right) is Sym else _are_equal(left, right)
        if not is_same:
            break
        count += 1
    return count


def _is_text(value: Any) -> bool:
    return type(value) is str or (type(value) is Sym and value.kind.only("str"))


def _are_equal(one: Any, other: Any) -> bool:
    """Whether they are the same constant; `repr` tells 0.0 from -0.0."""
    return type(one) is type(other) and type(one) in SCALARS and one == other and repr(one) == repr(other)
