"""Statements of a template, executed as Jinja's compiled code would execute them; loops are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jinja2 import nodes, runtime
from jinja2.compiler import Frame, find_undeclared
from jinja2.utils import missing

from promptpress._errors.errors import counted
from promptpress._jinja.compiler.calls import Evaluator
from promptpress._jinja.compiler.machine import Activation, Machine, Scope
from promptpress._jinja.compiler.operands import MAX_STEPS, TEXTS, Once
from promptpress._jinja.compiler.values import (
    MISSING,
    TEXT,
    LoopControl,
    MarkedSafe,
    Sym,
    is_text,
)
from promptpress._jinja.traced_values import is_safe


class Statements:
    """Executes statements; `may_continue` is false if there surely is no `continue`, because searching takes long."""

    def __init__(self, expressions: Evaluator, *, may_continue: bool) -> None:
        self._may_continue = may_continue
        self.expressions = expressions
        self.machine: Machine = expressions.machine
        self.scope: Scope = expressions.scope

    def template(self, node: nodes.Template, frame: Frame) -> None:
        """Execute a whole template; its root frame has been analysed."""
        self.scope.enter(frame)
        self.body(node.body, frame)

    def body(self, body: Iterable[nodes.Node], frame: Frame, rest: Callable[[], None] | None = None) -> None:
        """Execute statements in order.

        `rest` executes what follows up to the end of a loop's body. It is part of the ways of a condition, because some
        of them skip it by `continue`.
        """
        following = list(body)
        for index, node in enumerate(following):
            self.machine.step(node)
            if self._may_continue and isinstance(node, nodes.If) and _continues(node):
                self._if(node, frame, lambda: self.body(following[index + 1 :], frame, rest))  # noqa: B023 - called at once
                return
            visit = getattr(self, f"_{type(node).__name__.lower()}", None)
            if visit is None:
                raise self.machine.unsupported(f"{type(node).__name__} isn't compiled")
            visit(node, frame)
        if rest is not None:
            rest()

    def _output(self, node: nodes.Output, frame: Frame) -> None:
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                self.machine.write(child.data)
            elif isinstance(child, nodes.Const):
                # Jinja2 writes a constant as text into its code, even one without a name there, such as infinity.
                self.machine.write(self.machine.real(str, child.value))
            else:
                self.machine.write(self.expressions.evaluate(child, frame))

    def _if(self, node: nodes.If, frame: Frame, rest: Callable[[], None] | None = None) -> None:
        ways = [(branch.test, branch.body) for branch in (node, *node.elif_)]
        self._either(ways, node.else_, frame.soft(), rest)

    def _either(
        self,
        ways: list[tuple[Any, list[nodes.Node]]],
        otherwise: list[nodes.Node],
        frame: Frame,
        rest: Callable[[], None] | None,
    ) -> None:
        (test, body), *more = ways
        condition = self.machine.condition(self.expressions.evaluate(test, frame))

        def way(body: list[nodes.Node]) -> None:
            try:
                self.body(body, frame, rest)
            except LoopControl as control:
                # If this way includes the rest of the loop's body, `continue` just ends the way.
                if rest is None or str(control) != "continue" or type(condition) is bool:
                    raise

        def other() -> None:
            if more:
                self._either(more, otherwise, frame, rest)
            else:
                way(otherwise)

        self.machine.branch(condition, lambda: way(body), other)

    # Assignments

    def _assign(self, node: nodes.Assign, frame: Frame) -> None:
        self.store(node.target, self.expressions.evaluate(node.node, frame), frame)

    def store(self, target: nodes.Node, value: Any, frame: Frame) -> None:
        """Assign a value to a name, a namespace's attribute, or several of them."""
        if isinstance(target, nodes.Name):
            self.scope.set(frame.symbols.ref(target.name), value)
        elif isinstance(target, nodes.NSRef):
            namespace = self.scope.get(frame.symbols.ref(target.name))
            self.scope.set_attribute(namespace, target.attr, value)
        elif isinstance(target, nodes.Tuple):
            if type(value) is Sym:
                value = self.machine.expanded(value)
            values = self.machine.real(list, value)
            if len(values) != len(target.items):
                raise self.machine.unsupported("as many values as names have to be assigned")
            for item, part in zip(target.items, values, strict=True):
                self.store(item, part, frame)
        else:
            raise self.machine.unsupported(f"{type(target).__name__} isn't assigned to")

    @contextmanager
    def _inner(self, node: nodes.Node, frame: Frame) -> Iterator[Frame]:
        """Enter a block with its own variables, and leave it unless it raises."""
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        self.scope.enter(inner)
        yield inner
        self.scope.leave(inner)

    def _assignblock(self, node: nodes.AssignBlock, frame: Frame) -> None:
        with self._inner(node, frame) as inner:
            value = self.machine.captured(lambda: self.body(node.body, inner))
            if node.filter is not None:
                value = self._filtered(node.filter, value, inner)
            self.store(node.target, value, frame)

    def _filterblock(self, node: nodes.FilterBlock, frame: Frame) -> None:
        with self._inner(node, frame) as inner:
            value = self.machine.captured(lambda: self.body(node.body, inner))
            self.machine.lift(self._write_filtered, self._filtered(node.filter, value, inner))

    def _write_filtered(self, value: Any) -> None:
        # Jinja joins the value with the rest of the output, which fails unless it is a text.
        if not is_text(value) and not is_safe(value) and type(value) is not MarkedSafe:
            raise self.machine.unsupported("a filter block that gives what may be no text")
        self.machine.write(value)

    def _filtered(self, node: nodes.Filter, value: Any, frame: Frame) -> Any:
        """Apply the filters of a block to a text, the innermost first."""
        if isinstance(node.node, nodes.Filter):
            value = self._filtered(node.node, value, frame)
        elif node.node is not None:
            raise self.machine.unsupported("a filter of a block that has a value of its own")
        return self.expressions.filtered(node, value, frame)

    def _with(self, node: nodes.With, frame: Frame) -> None:
        with self._inner(node, frame) as inner:
            for target, value in zip(node.targets, node.values, strict=True):
                self.store(target, self.expressions.evaluate(value, frame), inner)
            self.body(node.body, inner)

    def _scope(self, node: nodes.Scope, frame: Frame) -> None:
        with self._inner(node, frame) as inner:
            self.body(node.body, inner)

    def _exprstmt(self, node: nodes.ExprStmt, frame: Frame) -> None:
        self.expressions.evaluate(node.node, frame)

    # Loops

    def _for(self, node: nodes.For, frame: Frame) -> None:
        if node.recursive:
            raise self.machine.unsupported("a recursive loop")
        if node.else_ and any(True for _ in node.find_all((nodes.Break, nodes.Continue))):
            # Jinja treats a loop as empty if no run of its body came to its end.
            raise self.machine.unsupported("a loop with `else`, and `break` or `continue` within it")
        value = self.expressions.evaluate(node.iter, frame)
        self.machine.lift(lambda items: self._loop(node, items, frame), value)

    def _loop(self, node: nodes.For, value: Any, frame: Frame) -> None:
        """Run a loop over a value, in the frame around it."""
        inner = frame.inner()
        is_extended = "loop" in find_undeclared(node.iter_child_nodes(only=("body",)), ("loop",))
        loop_ref = inner.symbols.declare_parameter("loop") if is_extended else None
        inner.symbols.analyze_node(node, for_branch="body")
        if type(value) is Sym and value.kind.only("str"):
            self._characters(node, inner, is_extended=is_extended)
            return
        items = self._tested(node, self._items(value), inner, frame)
        # Without `loop` and `else`, skipping an item has the same effect as running an empty body for it.
        if (is_extended or node.else_) and not all(type(truth) is bool for _, truth in items):
            raise self.machine.unsupported("a loop's condition is decided by a value of the row")
        if items or not node.else_:
            self._run(node, inner, items, loop_ref)
            return
        else_frame = frame.inner()
        else_frame.symbols.analyze_node(node, for_branch="else")
        self.scope.enter(else_frame)
        self.body(node.else_, else_frame)
        self.scope.leave(else_frame)

    def _items(self, value: Any) -> list[Any]:
        """Return what a loop goes over; nothing else may use a generator that a loop has gone over."""
        if type(value) is Once:
            return value.rest()
        if type(value) is LoopContext:
            raise self.machine.unsupported("a loop over `loop`")
        if type(value) in TEXTS and len(value) > MAX_STEPS:
            raise self.machine.unsupported(f"a loop over more than {counted(MAX_STEPS, 'character')}")
        items: list[Any] = self.machine.real(list, self.machine.expanded(value))
        return items

    def _tested(self, node: nodes.For, items: list[Any], inner: Frame, frame: Frame) -> list[tuple[Any, bool | int]]:
        """Return the items for which a loop's condition may be true, each with its truth.

        Jinja2 tests an item when it is needed, so nothing that the body can change may decide.
        """
        if node.test is None:
            return [(item, True) for item in items]
        test_frame = frame.inner()
        test_frame.symbols.analyze_node(node, for_branch="test")
        out: list[tuple[Any, bool | int]] = []
        # It has its own variables.
        before = self.scope.activation, self.machine.is_testing
        self.scope.activation, self.machine.is_testing = Activation(self.scope.activation), True
        try:
            self.scope.enter(test_frame)
            for item in items:
                self.store(node.target, item, inner)
                out.append((item, self.machine.condition(self.expressions.evaluate(node.test, test_frame))))
        finally:
            self.scope.activation, self.machine.is_testing = before
        return [(item, truth) for item, truth in out if truth is not False]

    def _run(self, node: nodes.For, inner: Frame, items: list[tuple[Any, bool | int]], loop_ref: str | None) -> None:
        """Run the body for each item."""
        forks = self.machine.forks
        loop = LoopContext(self.machine, [item for item, _ in items], self.machine.environment.undefined)
        for item, truth in items:
            self.machine.step(node)
            if next(loop, None) is None:
                break  # the body has gone over `loop` itself
            if loop_ref is not None:
                self.scope.set(loop_ref, loop)
            self.store(node.target, item, inner)
            self.scope.enter(inner)
            try:
                self.machine.branch(truth, lambda: self._item(node, inner, truth), lambda: None)  # noqa: B023 - called at once
            except LoopControl as control:
                if self.machine.forks != forks:
                    raise
                if str(control) == "break":
                    break
        self.scope.leave(inner)

    def _item(self, node: nodes.For, inner: Frame, truth: bool | int) -> None:
        """Run the body of a loop for one item."""
        try:
            self.body(node.body, inner)
        except LoopControl as control:
            if type(truth) is bool or str(control) != "continue":
                raise

    def _characters(self, node: nodes.For, inner: Frame, *, is_extended: bool) -> None:
        """Run a loop over the characters of a text of the row: if no character has an effect, the loop has none.

        Templates that loop over the parts of a content also meet texts, whose characters are no parts.
        """
        machine = self.machine
        refusal = machine.unsupported("a loop over the characters of a value of the row")
        if is_extended or node.else_ or node.test is not None or not isinstance(node.target, nodes.Name):
            raise refusal
        marks, statements = (machine.state.mark(), machine.facts.mark()), len(machine.block)
        self.store(node.target, Sym(-1, TEXT), inner)
        self.scope.enter(inner)
        target = (self.scope.activation, inner.symbols.ref(node.target.name))
        try:
            written = machine.captured(lambda: self.body(node.body, inner))
        except LoopControl as control:
            raise refusal from control
        self.scope.leave(inner)
        changed = machine.state.undo(marks[0])
        machine.facts.undo(marks[1])
        same = all(value is machine.state.get(key, MISSING) for key, value in changed.items() if key != target)
        if written != "" or not same or len(machine.block) != statements:
            raise refusal

    def _break(self, *_: Any) -> None:
        raise LoopControl("break")

    def _continue(self, *_: Any) -> None:
        raise LoopControl("continue")

    # Macros

    def _macro(self, node: nodes.Macro, frame: Frame) -> None:
        self.scope.set(frame.symbols.ref(node.name), self._made_macro(node, frame))

    def _callblock(self, node: nodes.CallBlock, frame: Frame) -> None:
        caller = self._made_macro(node, frame)
        self.machine.write(self.expressions.call(node.call, frame, caller))

    def _made_macro(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> runtime.Macro:
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        names = [argument.name for argument in node.args]
        arguments = [inner.symbols.ref(name) for name in names]
        undeclared = find_undeclared(node.body, ("caller", "kwargs", "varargs"))
        accesses = {name: name in undeclared for name in ("caller", "kwargs", "varargs")}
        if accesses["caller"] and "caller" not in names:
            arguments.append(inner.symbols.declare_parameter("caller"))
        for name in ("kwargs", "varargs"):
            accesses[name] = accesses[name] and name not in names
            if accesses[name]:
                arguments.append(inner.symbols.declare_parameter(name))
        inner.symbols.analyze_node(node)
        outer = self.scope.activation

        def body(*values: Any) -> Any:
            return self._macro_body(node, inner, dict(zip(arguments, values, strict=True)), outer)

        return runtime.Macro(
            self.machine.environment,
            body,
            getattr(node, "name", None),  # type: ignore[arg-type]
            tuple(names),  # type: ignore[arg-type]  # as compiled code has it
            accesses["kwargs"],
            accesses["varargs"],
            accesses["caller"],
            default_autoescape=False,
        )

    def _macro_body(
        self, node: nodes.Macro | nodes.CallBlock, frame: Frame, values: dict[str, Any], outer: Activation
    ) -> Any:
        calling, self.scope.activation = self.scope.activation, Activation(outer)
        try:
            for ident, value in values.items():
                self.scope.set(ident, MISSING if value is missing else value)
            self.scope.enter(frame)
            for index, argument in enumerate(node.args):
                ref = frame.symbols.ref(argument.name)
                if self.scope.get(ref) is not MISSING:
                    continue
                default = index - len(node.args) + len(node.defaults)
                if default >= 0:
                    self.scope.set(ref, self.expressions.evaluate(node.defaults[default], frame))
                else:
                    message = f"parameter {argument.name!r} was not provided"
                    self.scope.set(ref, self.machine.environment.undefined(message, name=argument.name))
            return self.machine.captured(lambda: self.body(node.body, frame))
        except LoopControl as control:
            raise self.machine.unsupported(f"a {control} outside of a loop") from control
        finally:
            self.scope.activation = calling


def _continues(node: nodes.Node) -> bool:
    """Return true if a node contains a `continue` of the loop around the node."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Continue) or (not isinstance(child, nodes.For) and _continues(child)):
            return True
    return False


class LoopContext(runtime.LoopContext):
    """Jinja's `loop`, which refuses to advance where a value of the row decides: no way of a fork could undo it."""

    def __init__(self, machine: Machine, items: list[Any], undefined: Any) -> None:
        super().__init__(items, undefined)
        self._machine = machine
        self._forks = machine.forks

    def __next__(self) -> tuple[Any, runtime.LoopContext]:
        if self._machine.forks != self._forks:
            raise self._machine.unsupported("how far a loop goes is decided by a value of the row")
        return super().__next__()
