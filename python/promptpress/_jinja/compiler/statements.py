"""Statements of a template, executed as Jinja's compiled code would execute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jinja2 import nodes
from jinja2.compiler import Frame, find_undeclared
from jinja2.runtime import Macro
from jinja2.utils import missing

from promptpress._jinja.compiler.calls import call, expanded
from promptpress._jinja.compiler.expressions import Expressions
from promptpress._jinja.compiler.loops import Loops
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.scope import Activation, Scope
from promptpress._jinja.compiler.values import MISSING, LoopControl, MarkedSafe, Sym, is_text
from promptpress._jinja.traced.values import is_safe


class Statements:
    """Executes statements.

    Args:
        expressions: The evaluator of expressions.
        may_continue: False if the template surely has no `continue`, because searching for one takes long.
    """

    def __init__(self, expressions: Expressions, *, may_continue: bool) -> None:
        self._may_continue = may_continue
        self.expressions = expressions
        self.machine: Machine = expressions.machine
        self.scope: Scope = expressions.scope
        self.environment = expressions.environment
        self.loops = Loops(self)

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
                value = expanded(self.expressions, value)
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
        self.machine.lift(lambda items: self.loops.run(node, items, frame), value)

    def _break(self, *_: Any) -> None:
        raise LoopControl("break")

    def _continue(self, *_: Any) -> None:
        raise LoopControl("continue")

    # Macros

    def _macro(self, node: nodes.Macro, frame: Frame) -> None:
        self.scope.set(frame.symbols.ref(node.name), self._made_macro(node, frame))

    def _callblock(self, node: nodes.CallBlock, frame: Frame) -> None:
        caller = self._made_macro(node, frame)
        self.machine.write(call(self.expressions, node.call, frame, caller))

    def _made_macro(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> Macro:
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

        return Macro(
            self.environment,
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
                    self.scope.set(ref, self.environment.undefined(message, name=argument.name))
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
