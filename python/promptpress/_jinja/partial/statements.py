"""Statements of a template, executed as the code would be that Jinja compiles them to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import nodes
from jinja2.compiler import Frame, find_undeclared
from jinja2.runtime import Macro
from jinja2.utils import missing
from markupsafe import Markup

from promptpress._jinja.partial.calls import expanded
from promptpress._jinja.partial.expressions import Expressions
from promptpress._jinja.partial.loops import Loops
from promptpress._jinja.partial.machine import Machine
from promptpress._jinja.partial.scope import Activation, Scope
from promptpress._jinja.partial.values import MISSING, LoopControl, MarkedSafe, Sym

__all__ = ["Statements"]


class Statements:
    """Executes statements.

    Args:
        expressions: What evaluates.
        may_continue: Whether the template may have a `continue`: looking for one takes long.

    """

    def __init__(self, expressions: Expressions, *, may_continue: bool) -> None:
        self._may_continue = may_continue
        self.expressions = expressions
        self.machine: Machine = expressions.machine
        self.scope: Scope = expressions.scope
        self.environment = expressions.environment
        self.loops = Loops(self)

    def template(self, node: nodes.Template, frame: Frame) -> None:
        """Execute a whole template.

        Args:
            node: Its tree.
            frame: The root frame, analysed.

        """
        self.scope.enter(frame)
        self.body(node.body, frame)

    def body(self, body: Iterable[nodes.Node], frame: Frame, rest: Callable[[], None] | None = None) -> None:
        """Execute statements one after the other.

        Args:
            body: The statements.
            frame: Jinja's.
            rest: What comes behind them up to the end of a loop's body. It belongs to the ways of a condition, some of
                which leave it out by `continue`.

        """
        following = list(body)
        for place, node in enumerate(following):
            self.machine.step(node)
            if self._may_continue and isinstance(node, nodes.If) and _continues(node):
                self._if(node, frame, lambda: self.body(following[place + 1 :], frame, rest))  # noqa: B023 - called at once
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
                # Jinja2 writes its text into the code, also that of what has no name there, such as infinity.
                self.machine.write(self.machine.real(str, child.value))
            else:
                self.machine.write(self.expressions.evaluate(child, frame))

    def _if(self, node: nodes.If, frame: Frame, rest: Callable[[], None] | None = None) -> None:
        soft = frame.soft()
        ways = [(node.test, node.body), *((one.test, one.body) for one in node.elif_)]
        self._either(ways, node.else_, soft, rest)

    def _either(
        self,
        ways: list[tuple[Any, list[nodes.Node]]],
        otherwise: list[nodes.Node],
        frame: Frame,
        rest: Callable[[], None] | None,
    ) -> None:
        (test, body), *more = ways
        found = self.machine.condition(self.expressions.evaluate(test, frame))

        def way(body: list[nodes.Node]) -> None:
            try:
                self.body(body, frame, rest)
            except LoopControl as control:
                # With the rest of the loop's body within this way, going on with the next item is its end.
                if rest is None or str(control) != "continue" or type(found) is bool:
                    raise

        def other() -> None:
            if more:
                self._either(more, otherwise, frame, rest)
            else:
                way(otherwise)

        self.machine.branch(found, lambda: way(body), other)

    # Assignments

    def _assign(self, node: nodes.Assign, frame: Frame) -> None:
        self.store(node.target, self.expressions.evaluate(node.node, frame), frame)

    def store(self, target: nodes.Node, value: Any, frame: Frame) -> None:
        """Assign a value.

        Args:
            target: A name, a namespace's attribute, or several of them.
            value: The value.
            frame: Jinja's.

        """
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
            for item, one in zip(target.items, values, strict=True):
                self.store(item, one, frame)
        else:
            raise self.machine.unsupported(f"{type(target).__name__} isn't assigned to")

    def _assignblock(self, node: nodes.AssignBlock, frame: Frame) -> None:
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        self.scope.enter(inner)
        value = self.machine.captured(lambda: self.body(node.body, inner))
        if node.filter is not None:
            value = self._through(node.filter, value, inner)
        self.store(node.target, value, frame)
        self.scope.leave(inner)

    def _filterblock(self, node: nodes.FilterBlock, frame: Frame) -> None:
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        self.scope.enter(inner)
        value = self.machine.captured(lambda: self.body(node.body, inner))
        self.machine.lift(self._write_filtered, self._through(node.filter, value, inner))
        self.scope.leave(inner)

    def _write_filtered(self, value: Any) -> None:
        # Jinja joins it with the rest of the output as it is, and what is no text can't be joined.
        is_text = value.kind.only("str") if type(value) is Sym else type(value) in (str, Markup, MarkedSafe)
        if not is_text:
            raise self.machine.unsupported("a filter block that gives what may be no text")
        self.machine.write(value)

    def _through(self, node: nodes.Filter, value: Any, frame: Frame) -> Any:
        """A text through the filters of a block, the innermost first."""
        if isinstance(node.node, nodes.Filter):
            value = self._through(node.node, value, frame)
        elif node.node is not None:
            raise self.machine.unsupported("a filter of a block that has a value of its own")
        return self.expressions.filtered(node, value, frame)

    def _with(self, node: nodes.With, frame: Frame) -> None:
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        self.scope.enter(inner)
        for target, value in zip(node.targets, node.values, strict=True):
            self.store(target, self.expressions.evaluate(value, frame), inner)
        self.body(node.body, inner)
        self.scope.leave(inner)

    def _scope(self, node: nodes.Scope, frame: Frame) -> None:
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        self.scope.enter(inner)
        self.body(node.body, inner)
        self.scope.leave(inner)

    def _exprstmt(self, node: nodes.ExprStmt, frame: Frame) -> None:
        self.expressions.evaluate(node.node, frame)

    # Loops

    def _for(self, node: nodes.For, frame: Frame) -> None:
        if node.recursive:
            raise self.machine.unsupported("a recursive loop")
        if node.else_ and any(True for _ in node.find_all((nodes.Break, nodes.Continue))):
            # Jinja takes a loop for an empty one if no body of it came to its end.
            raise self.machine.unsupported("a loop with `else`, and `break` or `continue` within it")
        value = self.expressions.evaluate(node.iter, frame)
        self.machine.lift(lambda one: self.loops.run(node, one, frame), value)

    def _break(self, *_: Any) -> None:
        raise LoopControl("break")

    def _continue(self, *_: Any) -> None:
        raise LoopControl("continue")

    # Macros

    def _macro(self, node: nodes.Macro, frame: Frame) -> None:
        self.scope.set(frame.symbols.ref(node.name), self._made_macro(node, frame))

    def _callblock(self, node: nodes.CallBlock, frame: Frame) -> None:
        caller = self._made_macro(node, frame)
        self.machine.write(self.expressions.call_with(node.call, frame, caller))

    def _made_macro(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> Macro:
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        arguments = [inner.symbols.ref(argument.name) for argument in node.args]
        own = {argument.name for argument in node.args}
        undeclared = find_undeclared(node.body, ("caller", "kwargs", "varargs"))
        accesses = {name: name in undeclared for name in ("caller", "kwargs", "varargs")}
        if accesses["caller"] and "caller" not in own:
            arguments.append(inner.symbols.declare_parameter("caller"))
        for name in ("kwargs", "varargs"):
            accesses[name] = accesses[name] and name not in own
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
            tuple(argument.name for argument in node.args),  # type: ignore[arg-type]  # as compiled code has it
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
            for place, argument in enumerate(node.args):
                ref = frame.symbols.ref(argument.name)
                if self.scope.get(ref) is not MISSING:
                    continue
                default = place - len(node.args) + len(node.defaults)
                if default >= 0:
                    self.scope.set(ref, self.expressions.evaluate(node.defaults[default], frame))
                else:
                    undefined = self.environment.undefined
                    message = f"parameter {argument.name!r} was not provided"
                    self.scope.set(ref, undefined(message, name=argument.name))
            return self.machine.captured(lambda: self.body(node.body, frame))
        except LoopControl as control:
            raise self.machine.unsupported(f"a {control} outside of a loop") from control
        finally:
            self.scope.activation = calling


def _continues(node: nodes.Node) -> bool:
    """Whether a `continue` stands in it, of the loop that it stands in."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Continue) or (not isinstance(child, nodes.For) and _continues(child)):
            return True
    return False
