"""The state of an evaluation: names, what was written, what is known on the way; and its forks where a row decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jinja2 import nodes
from jinja2.runtime import LoopContext
from markupsafe import Markup

from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.texts import holds_opaque, plain_text
from promptpress._jinja.partial.values import (
    MISSING,
    BailError,
    Choice,
    LoopControl,
    MarkedSafe,
    NeedsKeyError,
    Opaque,
    Sym,
    UnsupportedError,
    asked,
    forget,
    is_opaque,
)

__all__ = ["Bail", "Keys", "Machine", "Once"]

MAX_STEPS = 200_000
"""Nodes of the template's tree that are visited: what takes longer isn't worth compiling, or never ends."""

_SCALARS = (type(None), bool, int, float, str)
_INT64 = 1 << 63

Statement = tuple[Any, ...]
Keys = Mapping[tuple[Any, ...], int]
Piece = Any
"""A literal (`str`), a node (`int`), or `(condition, pieces, pieces)`."""


class Bail(NamedTuple):
    """Where rows go to Jinja2: the line, the node of the template's tree, and why."""

    line: int
    node: str
    reason: str


class Machine:
    """Where a template's evaluation stands.

    Args:
        builder: Takes the expressions.
        keys: The values of expressions that the program is made for; None: it is made for none.

    """

    def __init__(self, builder: Builder, keys: Keys | None) -> None:
        self.builder = builder
        self.keys = keys
        self.state: dict[Any, Any] = {}
        self.known: dict[Any, bool] = {}
        """Conditions on the way here, by their nodes; and what has been checked."""
        self.block: list[Statement] = []
        self.out: list[Piece] | None = None
        self.forks = 0
        self.steps = 0
        self.lineno = 0
        self.at = "Template"
        self.visited: dict[tuple[int, str], None] = {}
        self.bails: list[Bail] = []
        self.assumed_key: int | None = None
        """What a key is taken for that isn't given: to see what would be compiled if there were rows."""

    # What happens

    def step(self, node: nodes.Node) -> None:
        """Count a step: a node of the template's tree is visited."""
        self.steps += 1
        self.lineno = node.lineno or self.lineno
        self.at = type(node).__name__
        self.visited[self.lineno, self.at] = None
        if self.steps > MAX_STEPS:
            raise self.unsupported(f"it takes more than {MAX_STEPS:,} steps to evaluate")

    def unsupported(self, what: str) -> UnsupportedError:
        """An operation that isn't compiled."""
        return UnsupportedError(what, self.lineno)

    def real(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call code of Jinja's or Python's, as it would be called while a row is rendered.

        Args:
            function: What is called.
            arguments: Its arguments.
            named: Its keyword arguments.

        Returns:
            What it returns.

        Raises:
            BailError: If it raises, or has asked a value that isn't there.

        """
        before = asked()
        try:
            result = function(*arguments, **named)
            if hasattr(type(result), "__next__") and type(result) not in (Once, LoopContext) and not is_opaque(result):
                result = Once(self, _taken(result, self))
        except (BailError, NeedsKeyError):
            raise
        except RecursionError as error:
            raise self.unsupported("it calls itself too often") from error
        except Exception as error:
            raise BailError(f"raises {type(error).__name__}: {error}", self.lineno) from error
        if asked() != before:
            raise self.unsupported("a value of the row is looked at by an operation that isn't compiled")
        return result

    # Expressions

    def node(self, value: Any, *, tuples: bool = False) -> int:
        """The node of a value.

        Args:
            value: Of a row, or a constant that programs know.
            tuples: Whether a tuple may be a list.

        Returns:
            Its number.

        Raises:
            UnsupportedError: If programs have no such value.

        """
        if type(value) is Sym:
            if value.node < 0:
                raise self.unsupported("what a loop over the characters of a text does with them")
            return value.node
        if type(value) in _SCALARS:
            if type(value) is int and not -_INT64 <= value < _INT64:
                raise self.unsupported("a number beyond 64 bits")
            return self.builder.constant(value)
        if type(value) is list or (tuples and type(value) is tuple):
            if all(type(item) in _SCALARS for item in value):
                return self.builder.constant(list(value))
            return self.builder.operation("list", *(self.node(item) for item in value)).node
        name = "an undefined value or an object" if not is_opaque(value) else "a value that a condition decides"
        raise self.unsupported(f"{name} among the operands of an operation on a value of the row")

    def operate(self, name: str, *values: Any) -> Sym:
        """Apply an operation to values; where it may bail, the row does.

        Args:
            name: The operation's.
            values: Its operands.

        Returns:
            Its value.

        """
        made = self.builder.operation(name, *(self.node(value, tuples=name == "contains") for value in values))
        if not self.builder.is_certain(made.node) and not self.known.get(("checked", made.node)):
            self.known[("checked", made.node)] = True
            self.block.append(("check", made.node))
        return made

    def text(self, value: Any) -> Any:
        """What `str()` gives."""
        if type(value) is Sym:
            return value if value.kind.only("str") else self.operate("text", value)
        if type(value) in (list, tuple, dict) and holds_opaque(value):
            return plain_text(self, value)
        return self.real(str, value)

    def length(self, value: Sym) -> int:
        """The length of a list, which the program is made for.

        Raises:
            NeedsKeyError: If it isn't made for one yet.

        """
        return self.number(self.operate("length", value))

    def number(self, value: Sym) -> int:
        """A number, which the program is made for.

        Raises:
            NeedsKeyError: If it isn't made for one yet.

        """
        if self.keys is None:
            raise self.unsupported("how often a loop runs is decided by a value of the row")
        key = self.builder.expression(value.node)
        if self.assumed_key is not None:
            return self.assumed_key
        if key not in self.keys:
            raise NeedsKeyError(key)
        if self.keys[key] < 0:
            raise BailError("a number that is none, or below 0", self.lineno)
        return self.keys[key]

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
        if then is otherwise:
            return then
        is_then, is_else = type(then) is Sym, type(otherwise) is Sym
        if is_then and is_else and then.node == otherwise.node:
            return then if then.kind == otherwise.kind else Sym(then.node, self.builder.kinds[then.node])
        if (
            type(then) is type(otherwise)
            and type(then) in _SCALARS
            and then == otherwise
            and repr(then) == repr(otherwise)
        ):
            return then
        if then is True and otherwise is False:
            return self.truth(Sym(condition, self.builder.kinds[condition]))
        if then is False and otherwise is True:
            return self.negated(Sym(condition, self.builder.kinds[condition]))
        scalar = (is_then or type(then) in _SCALARS) and (is_else or type(otherwise) in _SCALARS)
        if scalar:
            then_node, else_node = self.node(then), self.node(otherwise)
            return self.builder.operation("select", condition, then_node, else_node)
        return Choice(condition, then, otherwise)

    # Writing

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

    def concat(self, parts: list[Any]) -> Any:
        """Texts one after the other.

        Args:
            parts: Texts, or values of the row that are texts.

        Returns:
            One text, or a value of the row.

        """
        flat: list[Any] = []
        for part in parts:
            inner: tuple[Any, ...] = self.builder.nodes[part.node] if type(part) is Sym else ()
            if inner and inner[0] == "concat":
                flat += [self._constant_or_sym(operand) for operand in inner[1:]]
            else:
                flat.append(part)
        joined: list[Any] = []
        for part in flat:
            if type(part) is str and joined and type(joined[-1]) is str:
                joined[-1] += part
            elif not (type(part) is str and not part):
                joined.append(part)
        if all(type(part) is str for part in joined):
            return "".join(joined)
        if len(joined) == 1 and joined[0].kind.only("str"):
            return joined[0]
        return self.operate("concat", *joined)

    def _constant_or_sym(self, node: int) -> Any:
        return self.builder.constants[node] if node in self.builder.constants else Sym(node, self.builder.kinds[node])


def _taken(values: Any, machine: Machine) -> list[Any]:
    out = []
    for value in values:
        if len(out) >= MAX_STEPS:
            raise machine.unsupported(f"a generator of more than {MAX_STEPS:,} values")
        out.append(value)
    return out


class Once:
    """What a generator is: it can be gone through once. How far it is belongs to the state, for the ways of a fork.

    Args:
        machine: Whose state it is.
        items: What it gives.

    """

    def __init__(self, machine: Machine, items: list[Any]) -> None:
        self._machine = machine
        self._items = items
        self._key = ("once", id(self), self)

    def __iter__(self) -> Once:
        return self

    def __next__(self) -> Any:
        state = self._machine.state
        at = state.get(self._key, 0)
        if type(at) is not int:
            raise self._machine.unsupported("it is decided by the row how much of a generator is used")
        if at >= len(self._items):
            raise StopIteration
        state[self._key] = at + 1
        return self._items[at]

    __str__ = __repr__ = Opaque.__repr__
