"""Loops: each is unrolled, one item after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from jinja2 import nodes
from jinja2.compiler import Frame, find_undeclared

from promptpress._jinja.compiler.calls import Evaluator, expanded
from promptpress._jinja.compiler.iterators import InOrder, LoopContext
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.scope import Activation, Scope
from promptpress._jinja.compiler.values import MISSING, TEXT, LoopControl, Sym, is_opaque

_END = object()


class Executor(Protocol):
    """The part of `Statements` that loops use."""

    environment: Any
    machine: Machine
    scope: Scope

    @property
    def expressions(self) -> Evaluator: ...
    def body(self, body: Iterable[nodes.Node], frame: Frame, rest: Callable[[], None] | None = None) -> None: ...
    def store(self, target: Any, value: Any, frame: Frame) -> None: ...


class Loops:
    """Runs loops; the executor runs their bodies."""

    def __init__(self, statements: Executor) -> None:
        self.statements = statements
        self.machine = statements.machine
        self.scope = statements.scope
        self.environment = statements.environment

    def run(self, node: nodes.For, value: Any, frame: Frame) -> None:
        """Run a loop over a value, in the frame around it."""
        inner, test_frame, else_frame = frame.inner(), frame.inner(), frame.inner()
        inner.loop_frame = True
        names = find_undeclared(node.iter_child_nodes(only=("body",)), ("loop",))
        is_extended = "loop" in names or any(block.scoped for block in node.find_all(nodes.Block))
        loop_ref = inner.symbols.declare_parameter("loop") if is_extended else None
        inner.symbols.analyze_node(node, for_branch="body")
        if node.else_:
            else_frame.symbols.analyze_node(node, for_branch="else")
        if type(value) is Sym and value.kind.only("str"):
            self._characters(node, frame)
            return
        if is_opaque(value):
            value = expanded(self.statements.expressions, value)
        items: Iterable[Any] = value
        tested: list[bool | int] = [True]
        if node.test is not None:
            test_frame.symbols.analyze_node(node, for_branch="test")
            self.machine.real(iter, value)
            # Without `loop` and `else`, skipping an item has the same effect as running an empty body for it.
            row_test = None if is_extended or node.else_ else tested
            items = InOrder(self.machine, self._filtered(node, value, inner, test_frame, row_test))
        loop = self.machine.real(LoopContext, self.machine, items, self.environment.undefined) if is_extended else None
        if loop is not None:
            steps: Iterator[Any] = iter(loop)
        else:
            steps = iter(items) if node.test is not None else self.machine.real(iter, items)
        if not self._run(node, inner, steps, loop_ref, tested) and node.else_:
            self.scope.enter(else_frame)
            self.statements.body(node.else_, else_frame)
            self.scope.leave(else_frame)

    def _run(
        self, node: nodes.For, inner: Frame, steps: Iterator[Any], loop_ref: str | None, tested: list[bool | int]
    ) -> bool:
        """Run the body for each item; return true if there was any."""
        ran = False
        forks = self.machine.forks
        while True:
            step = self.machine.real(next, steps, _END)
            if step is _END:
                break
            self.machine.step(node)
            ran = True
            item = step
            if loop_ref is not None:
                item, loop = step
                self.scope.set(loop_ref, loop)
            self.statements.store(node.target, item, inner)
            self.scope.enter(inner)
            try:
                self.machine.branch(tested[0], lambda: self._item(node, inner, tested[0]), lambda: None)
            except LoopControl as control:
                if self.machine.forks != forks:
                    raise
                if str(control) == "break":
                    break
        self.scope.leave(inner)
        return ran

    def _item(self, node: nodes.For, inner: Frame, tested: bool | int) -> None:
        """Run the body of a loop for one item."""
        try:
            self.statements.body(node.body, inner)
        except LoopControl as control:
            if type(tested) is bool or str(control) != "continue":
                raise

    def _characters(self, node: nodes.For, frame: Frame) -> None:
        """Run a loop over the characters of a text of the row: if no character has an effect, the loop has none.

        Templates that loop over the parts of a content also meet texts, whose characters are no parts.
        """
        if node.else_ or node.test is not None or not isinstance(node.target, nodes.Name):
            raise self.machine.unsupported("a loop over the characters of a value of the row")
        inner = frame.inner()
        inner.loop_frame = True
        if "loop" in find_undeclared(node.iter_child_nodes(only=("body",)), ("loop",)):
            raise self.machine.unsupported("a loop over the characters of a value of the row")
        inner.symbols.analyze_node(node, for_branch="body")
        machine = self.machine
        marks, statements = (machine.state.mark(), machine.facts.mark()), len(machine.block)
        self.statements.store(node.target, Sym(-1, TEXT), inner)
        self.scope.enter(inner)
        target = (self.scope.activation, inner.symbols.ref(node.target.name))
        try:
            written = machine.captured(lambda: self.statements.body(node.body, inner))
        except LoopControl as control:
            raise machine.unsupported("a loop over the characters of a value of the row") from control
        self.scope.leave(inner)
        changed = machine.state.undo(marks[0])
        machine.facts.undo(marks[1])
        same = all(value is machine.state.get(key, MISSING) for key, value in changed.items() if key != target)
        if written != "" or not same or len(machine.block) != statements:
            raise machine.unsupported("a loop over the characters of a value of the row")

    def _filtered(
        self, node: nodes.For, items: Iterable[Any], inner: Frame, test_frame: Frame, tested: list[bool | int] | None
    ) -> Iterator[Any]:
        """Yield the items for which a loop's condition is true; each is tested when it is needed.

        `tested` receives the condition if a value of the row decides it; if it is None, no value of the row may decide
        it.
        """
        forks = self.machine.forks
        # It has its own variables, because `loop.last` may call it while the body is still at the item before.
        activation = Activation(self.scope.activation)
        for number, item in enumerate(items):
            if self.machine.forks != forks:
                raise self.machine.unsupported("a loop's condition is tested where a value of the row decides whether")
            truth = self._tested(node, item, activation, (inner, test_frame), is_first=number == 0)
            if type(truth) is not bool and tested is None:
                raise self.machine.unsupported("a loop's condition is decided by a value of the row")
            if tested is not None:
                tested[0] = truth
            if truth is not False:
                yield item

    def _tested(
        self, node: nodes.For, item: Any, activation: Activation, frames: tuple[Frame, Frame], *, is_first: bool
    ) -> bool | int:
        inner, test_frame = frames
        calling, self.scope.activation = self.scope.activation, activation
        try:
            if is_first:
                self.scope.enter(test_frame)
            self.statements.store(node.target, item, inner)
            assert node.test is not None
            return self.machine.condition(self.statements.expressions.evaluate(node.test, test_frame))
        finally:
            self.scope.activation = calling
