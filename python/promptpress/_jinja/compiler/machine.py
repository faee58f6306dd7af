"""The machine of an evaluation: goes both ways of the row's conditions, writes texts, and holds the variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from jinja2.compiler import Frame
from jinja2.idtracking import VAR_LOAD_ALIAS, VAR_LOAD_RESOLVE, VAR_LOAD_UNDEFINED

from promptpress._jinja.compiler.operands import SCALARS, Keys, Operands
from promptpress._jinja.compiler.program import SMALL, Builder, Statement
from promptpress._jinja.compiler.values import (
    MAX_WAYS,
    MISSING,
    BailError,
    Choice,
    Closed,
    LoopControl,
    MarkedSafe,
    Opaque,
    Sym,
    UnsupportedError,
    forget_inspections,
    inspections,
    is_text,
    kind,
)
from promptpress._jinja.traced_values import TracedText, is_safe, is_traced, pieces

MAX_FORKS = 150
"""Nesting of conditions: the core allows a little more, and Python's stack about as much."""

MAX_WRITTEN_FORKS = 50
"""Nesting of conditions up to which the text of another condition is written in parts."""

_LIST = kind("list")

Piece = Any
"""A literal (`str`), a node (`int`), or `(condition, pieces, pieces)`."""


class Bail(NamedTuple):
    """A place where rows go to Jinja2: the line, the node of the template's tree, and the reason."""

    line: int
    node: str
    reason: str


class Machine(Operands):
    """Evaluates both ways of conditions, and writes texts and values of the row: into the program, or into a value."""

    def __init__(self, builder: Builder, keys: Keys | None) -> None:
        super().__init__(builder, keys)
        self.out: list[Piece] | None = None
        """The text that is written, if it becomes a value; None: it is the program's output."""
        self.forks = 0
        self.bails: list[Bail] = []
        self.has_unsupported = False
        """True if an operation without support for values of the row has met one."""
        self._written: set[int] = set()
        """Nodes of texts that were written in parts."""

    def condition(self, value: Any) -> bool | int:
        """Return the truth of a value, or the number of its node."""
        if type(value) is Choice:
            value = self.lift(self.truth, value)
        if type(value) is MarkedSafe:
            value = value.value
        if type(value) is Closed:
            return True
        if type(value) is not Sym:
            return bool(self.real(bool, value))
        if value.kind.only("none"):
            return False
        node = value.node if value.kind.only("bool") else self.operate("truth", value).node
        return self.facts.get(node, node) if type(node) is int else node

    def truth(self, value: Any) -> Any:
        """Return the truth of a value, as a value."""
        truth = self.condition(value)
        return truth if type(truth) is bool else self.builder.sym(truth)

    def negated(self, value: Any) -> Any:
        """Return `not value`."""
        truth = self.condition(value)
        if type(truth) is bool:
            return not truth
        inner = self.builder.nodes[truth]
        if inner[0] == "not" and self.builder.kinds[inner[1]].only("bool"):
            return self.builder.sym(inner[1])
        return self.operate("not", self.builder.sym(truth))

    # Forks

    def lift(self, operation: Callable[..., Any], *values: Any) -> Any:
        """Apply an operation to values; if one of them is a choice, apply it to both alternatives."""
        for index, value in enumerate(values):
            if type(value) is Choice:
                if value.ways > MAX_WAYS:
                    message = f"a list, dict or object that conditions decide in more than {MAX_WAYS} ways"
                    raise self.unsupported(message)

                def side(alternative: Any, index: int = index) -> Callable[[], Any]:
                    return lambda: self.lift(operation, *values[:index], alternative, *values[index + 1 :])

                return self.branch(value.condition, side(value.then), side(value.otherwise))
        return operation(*values)

    def lift_call(self, function: Callable[..., Any], value: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        """Return `function(value, positional, named)`, lifted over the value and all arguments."""
        names = list(named)

        def apply(value: Any, *rest: Any) -> Any:
            split = len(rest) - len(names)
            return function(value, list(rest[:split]), dict(zip(names, rest[split:], strict=True)))

        return self.lift(apply, value, *positional, *named.values())

    def branch(self, condition: bool | int, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """Go both ways, unless it is known which one a row takes; return both results, merged."""
        if type(condition) is bool:
            return then() if condition else otherwise()
        if condition in self.facts:
            return then() if self.facts[condition] else otherwise()
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
            value, state, facts = alive
            self.state.redo(state)
            self.facts.redo(facts)
            return value
        for key in {**then_side[1], **else_side[1]}:
            present = self.state.get(key, MISSING)
            then_value, else_value = then_side[1].get(key, present), else_side[1].get(key, present)
            self.state[key] = self._merged(condition, then_value, else_value, floor)
        return self._merged(condition, then_side[0], else_side[0], floor)

    def _side(
        self, condition: int, truth: bool, way: Callable[[], Any], out: list[Piece] | None
    ) -> tuple[list[Statement], list[Piece], tuple[Any, dict[Any, Any], dict[Any, Any]] | None]:
        """Go one way, and back; `out` receives the text if it becomes a value.

        The result has the statements, the pieces of text, and the way's value with its changes of state and facts, or
        None instead of the latter if the way bails.
        """
        block: list[Statement] = []
        pieces: list[Piece] = []
        self.block, self.out = block, pieces if out is not None else None
        marks = self.state.mark(), self.facts.mark()
        self.facts[condition] = truth
        self.forks += 1
        before = inspections()
        ended = True
        value = None
        try:
            value = way()
            ended = False
        except BailError as bail:
            forget_inspections(before)
            self.bail(bail, block)
        except LoopControl as control:
            self.bail(self.unsupported(f"the row decides about a {control}"), block)
        finally:
            self.forks -= 1
            state, facts = self.state.undo(marks[0]), self.facts.undo(marks[1])
        return block, pieces, None if ended else (value, state, facts)

    def bail(self, bail: BailError, block: list[Statement]) -> None:
        """Let Jinja2 render rows from here on."""
        lineno = bail.lineno or self.lineno
        self.has_unsupported |= isinstance(bail, UnsupportedError)
        self.bails.append(Bail(lineno, self.node_type, bail.reason))
        block.append(("bail", self.builder.reason(f"line {lineno}: {bail.reason}")))

    def _merged(self, condition: int, then: Any, otherwise: Any, floor: int) -> Any:
        """Merge the values of both ways; `floor` is the number of nodes before the ways made any."""
        if then is otherwise or _are_equal(then, otherwise):
            return then
        is_then, is_else = type(then) is Sym, type(otherwise) is Sym
        if is_then and is_else and then.node == otherwise.node:
            return then if then.kind == otherwise.kind else self.builder.sym(then.node)
        if type(then) is bool and type(otherwise) is bool:
            value = self.builder.sym(condition)
            return self.truth(value) if then else self.negated(value)
        if (is_then or _is_scalar(then)) and (is_else or _is_scalar(otherwise)):
            return self._select(condition, then, otherwise, floor)
        choice = Choice(condition, then, otherwise)
        if choice.ways > MAX_WAYS and choice.is_list:
            try:
                return Sym(self._list_node(choice), _LIST)
            except UnsupportedError:
                pass  # one of the lists contains a value that programs can't represent
        return choice

    def _list_node(self, value: Any) -> int:
        """Return the node of a list that conditions decide; it is one value, however many ways lead to it."""
        if type(value) is Choice:
            then, otherwise = self._list_node(value.then), self._list_node(value.otherwise)
            return self.builder.operation("select", value.condition, then, otherwise).node
        return self.node(value)

    def _select(self, condition: int, then: Any, otherwise: Any, floor: int) -> Any:
        """Select one of two scalars; of two texts, select only the parts that differ.

        Otherwise a text that a condition adds to would occur in both ways, and after the next condition in four.
        """
        if is_text(then) and is_text(otherwise):
            common, then_rest, else_rest = self._common(then, otherwise, floor)
            if common is not None:
                return self.concat(
                    [common, self._merged(condition, self.concat(then_rest), self.concat(else_rest), floor)]
                )
        return self.builder.operation("select", condition, self.node(then), self.node(otherwise))

    def _common(self, then: Any, otherwise: Any, floor: int) -> tuple[Any, list[Any], list[Any]]:
        """Find the text that existed before both ways added something after it.

        The result is the common text, None if there is none; and the additions of each way.
        """
        base, then_added = self._split(then, floor)
        other, else_added = self._split(otherwise, floor)
        if base is None or base != other:
            return None, [], []
        # Equal additions are common too, or else adding to a text for each of a thousand items takes a million steps.
        pairs = zip(then_added, else_added, strict=False)
        equal = sum(1 for _ in takewhile(lambda pair: _are_same_part(*pair), pairs))
        text = self.concat([self.constant_or_sym(base), *then_added[:equal]])
        return text, then_added[equal:], else_added[equal:]

    def _split(self, text: Any, floor: int) -> tuple[int | None, list[Any]]:
        """Return the node of the text that a way began with, and the additions; None if it began with none."""
        if type(text) is not Sym:
            return None, []
        number, added = text.node, []
        while number >= floor:
            name, *operands = self.builder.nodes[number]
            if name != "concat" or len(operands) < 2:
                return None, []
            number, *more = operands
            added += reversed(more)
        return number, [self.constant_or_sym(operand) for operand in reversed(added)]

    # Writing

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
                condition, *ways = operands
                self.branch(condition, *(partial(self._write_node, way) for way in ways))
            else:
                if self.block and self.block[-1] == ("check", node):
                    self.block.pop()
                self.block.append(("emit", node))

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


def _are_same_part(left: Any, right: Any) -> bool:
    return left.node == right.node if type(left) is Sym and type(right) is Sym else _are_equal(left, right)


def _is_scalar(value: Any) -> bool:
    return type(value) in SCALARS or (is_traced(value) and not is_safe(value))


def _are_equal(left: Any, right: Any) -> bool:
    """Return true if two values are the same constant; `repr` tells 0.0 from -0.0."""
    if type(left) is TracedText:
        return type(right) is TracedText and left == right and left.ends == right.ends
    return type(left) is type(right) and type(left) in SCALARS and left == right and repr(left) == repr(right)


class Namespace(Opaque):
    """The object that `namespace()` returns. Its attributes are part of the state, because a fork may change them."""

    __slots__ = ()
    # It is part of keys of the state. Neither method reveals the attributes.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # type: ignore[assignment]


@dataclass(eq=False)
class Activation:
    """A call of a function of the compiled template: the whole template, or a macro."""

    outer: Activation | None


class Scope:
    """The values of a template's variables; Jinja's own analysis tells which variable a name is.

    The given names take precedence over the environment's globals.
    """

    def __init__(self, machine: Machine, names: Mapping[str, Any]) -> None:
        self.machine = machine
        self.names = names
        self.activation = Activation(None)
        self.has_template_self = False
        """True if Jinja defines the variable `self`, which is the template and isn't in any context."""

    def get(self, ident: str) -> Any:
        """Return the value of a variable; MISSING if it has none."""
        activation: Activation | None = self.activation
        state = self.machine.state
        while activation is not None:
            if (activation, ident) in state:
                return state[activation, ident]
            activation = activation.outer
        return MISSING

    def set(self, ident: str, value: Any) -> None:
        """Give a variable a value."""
        self.machine.state[self.activation, ident] = value

    def enter(self, frame: Frame) -> None:
        """Load variables as the compiled template does at the start of a frame."""
        for target, (action, param) in frame.symbols.loads.items():
            if action == VAR_LOAD_RESOLVE:
                self.set(target, self._resolved(param))
            elif action == VAR_LOAD_ALIAS:
                self.set(target, self.get(param))
            elif action == VAR_LOAD_UNDEFINED:
                self.set(target, MISSING)

    def leave(self, frame: Frame) -> None:
        """Clear variables as the compiled template does at the end of a frame."""
        for target in frame.symbols.loads:
            self.set(target, MISSING)

    def _resolved(self, name: str) -> Any:
        return self.names[name] if name in self.names else self.machine.environment.globals.get(name, MISSING)

    # Namespaces

    def namespace(self, values: Mapping[str, Any]) -> Namespace:
        """Make a namespace."""
        made = Namespace()
        for name, value in values.items():
            self.set_attribute(made, name, value)
        return made

    def set_attribute(self, namespace: Any, name: str, value: Any) -> None:
        """Set `namespace.name = value`."""
        if type(namespace) is not Namespace:
            raise self.machine.unsupported("an attribute of what is no namespace is set")
        self._refuse_in_test()
        if name.startswith("_"):
            raise self.machine.unsupported("a namespace's name begins with `_`")
        self.machine.state[namespace, name] = value

    def attribute(self, value: Any, name: str) -> Any:
        """Return `value.name` of a known value."""
        machine = self.machine
        if type(value) is not Namespace:
            return machine.real(machine.environment.getattr, value, name)
        self._refuse_in_test()
        if name.startswith("_") or name in _NAMESPACE_ATTRIBUTES:
            raise machine.unsupported("an attribute that all namespaces have")
        stored = machine.state.get((value, name), MISSING)
        # Only errors would show which object lacks the attribute, and Jinja2 raises those.
        undefined = machine.environment.undefined
        return machine.lift(lambda item: undefined(obj=value, name=name) if item is MISSING else item, stored)

    def _refuse_in_test(self) -> None:
        if self.machine.is_testing:
            raise self.machine.unsupported("a loop's condition uses a namespace, which the loop may change")


_NAMESPACE_ATTRIBUTES = frozenset(dir(object))
