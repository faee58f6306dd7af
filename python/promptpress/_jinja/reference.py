"""Jinja2 as the reference: it renders the rows that no program renders, and some others to compare with programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import TemplateSyntaxError

from promptpress._errors.errors import render_error, template_error
from promptpress._jinja.sandbox.bounded import OPERATOR_SYMBOLS, BoundedEnvironment
from promptpress._jinja.sandbox.bounds import BUDGET, COMPILE_STEPS, LimitExceededError
from promptpress._jinja.sandbox.environments import environment
from promptpress._jinja.traced_environment import traced_template
from promptpress._jinja.traced_values import pieces

if TYPE_CHECKING:
    from jinja2 import Template, nodes

    from promptpress._core import TemplateError
    from promptpress._jinja.traced_values import Piece

MAX_DEPTH = 40
"""Python refuses code with 100 indentations or 200 open parentheses; a node of the tree takes one or two of them."""
MAX_EXPRESSION_DEPTH = 100
"""Jinja2's optimizer visits a part again for each expression around it: at a depth of 300 it takes half a minute."""
MAX_LOOPS = 12
"""Python refuses more than 20 nested blocks."""
MAX_WAYS = 50
"""Python's compiler nests each `elif` in the one before."""
MAX_INT_BITS = 64
"""Python doesn't print numbers of more than 4,300 digits."""
MAX_MAP_ARGUMENTS = 2
"""Further arguments may be passed on to the filter `int`."""

_MACRO_NAMES = frozenset({"caller", "varargs", "kwargs"})
_SLICED = (nodes.Getattr, nodes.Getitem, nodes.Call, nodes.Filter)
_BINDING = (nodes.Assign, nodes.AssignBlock, nodes.CallBlock, nodes.FilterBlock, nodes.For, nodes.Macro, nodes.With)

_BINARY: tuple[type[nodes.Node], ...] = (*OPERATOR_SYMBOLS, nodes.And, nodes.Or)
_PARTS: dict[type[nodes.Node], tuple[str, ...]] = {
    **dict.fromkeys((nodes.Template, nodes.Scope), ("body",)),
    **dict.fromkeys((nodes.Name, nodes.NSRef, nodes.Const, nodes.TemplateData, nodes.ExtensionAttribute), ()),
    **dict.fromkeys((nodes.Break, nodes.Continue), ()),
    **dict.fromkeys(_BINARY, ("left", "right")),
    **dict.fromkeys((nodes.Not, nodes.Neg, nodes.Pos, nodes.Getattr), ("node",)),
    **dict.fromkeys((nodes.Output, nodes.Concat), ("nodes",)),
    **dict.fromkeys((nodes.List, nodes.Tuple, nodes.Dict), ("items",)),
    **dict.fromkeys((nodes.Call, nodes.Filter, nodes.Test), ("node", "args", "kwargs", "dyn_args", "dyn_kwargs")),
    nodes.Pair: ("key", "value"),
    nodes.Keyword: ("value",),
    nodes.CondExpr: ("test", "expr1", "expr2"),
    nodes.Getitem: ("node", "arg"),
    nodes.Slice: ("start", "stop", "step"),
    nodes.Compare: ("expr", "ops"),
    nodes.Operand: ("expr",),
    nodes.ExprStmt: ("node",),
    nodes.If: ("test", "body", "elif_", "else_"),
    nodes.Assign: ("target", "node"),
    nodes.AssignBlock: ("target", "body"),
    nodes.FilterBlock: ("filter", "body"),
    nodes.With: ("targets", "values", "body"),
    nodes.For: ("target", "iter", "test", "else_"),
    nodes.Macro: ("args", "defaults"),
    nodes.CallBlock: ("call", "args", "defaults"),
}
"""The parts of each kind of node. Of kinds that aren't here, generating code may always fail."""


def refuse_deep_expressions(tree: nodes.Template) -> None:
    """Refuse expressions nested so deep that Jinja2 would take very long to generate code."""
    todo: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        depth = depth + 1 if isinstance(node, nodes.Expr) else 0
        if depth > MAX_EXPRESSION_DEPTH:
            message = f"an expression's parts lie within each other more than {MAX_EXPRESSION_DEPTH} deep"
            raise LimitExceededError(message)
        todo.extend((child, depth) for child in node.iter_child_nodes())


def _may_be_constant(node: nodes.Node) -> bool:
    """Return true if Jinja2 may compute an expression when it generates code, even if names occur in it."""
    if isinstance(node, (nodes.Name, nodes.NSRef, nodes.Call)):
        return False
    if isinstance(node, nodes.CondExpr):
        return _may_be_constant(node.test)
    if isinstance(node, (nodes.And, nodes.Or)):
        return _may_be_constant(node.left)
    if isinstance(node, nodes.Compare):
        return _may_be_constant(node.expr) and _may_be_constant(node.ops[0])
    return all(map(_may_be_constant, node.iter_child_nodes()))


class Survey:
    """Tells if Jinja2 can generate code from a tree, before it does; if `is_strict`, undefined values raise when used.

    Generating code takes longer than all other steps with a template, and only rows that Jinja2 renders need the code.
    So it is generated for the first of these rows, unless generating or compiling it may fail: that has to be reported
    when the template is made.
    """

    __slots__ = ("_filters", "_in_loop", "_is_strict", "_loops", "_tests", "binds", "is_certain", "names")

    def __init__(
        self, tree: nodes.Template, filters: Iterable[str], tests: Iterable[str], *, is_strict: bool = False
    ) -> None:
        self._filters, self._tests = filters, tests
        self._is_strict = is_strict
        self._in_loop = False
        self._loops = 0
        self.names: set[str] = set()
        """All names that occur; complete only if `is_certain`."""
        self.binds = False
        """True if statements assign to names."""
        self.is_certain = self._is_certain(tree, 0)
        """True if Jinja2 surely generates the code, and Python compiles it, without an error or a warning."""

    def _is_certain(self, node: nodes.Node, depth: int) -> bool:
        kind = type(node)
        parts = _PARTS.get(kind)
        if parts is None or depth > MAX_DEPTH:
            return False
        check = self._checks.get(kind)
        if check is not None and not check(self, node):
            return False
        for name in parts:
            part = getattr(node, name)
            if type(part) is list:
                for child in part:
                    if not self._is_certain(child, depth + 1):
                        return False
            elif part is not None and not self._is_certain(part, depth + 1):
                return False
        return kind not in _BODIES or self._is_certain_body(node, depth)

    def _is_certain_body(self, node: Any, depth: int) -> bool:
        """Check the body of a loop, or of a node that becomes a Python function."""
        before = self._in_loop, self._loops
        self._in_loop = type(node) is nodes.For
        self._loops += self._in_loop
        is_certain = self._loops <= MAX_LOOPS and all(self._is_certain(child, depth + 1) for child in node.body)
        self._in_loop, self._loops = before
        return is_certain

    # Checks of a node without its parts. Each returns true if nothing is wrong.

    def _name(self, node: nodes.Name) -> bool:
        return self._ns_ref(node) and (node.ctx == "load" or node.name != "loop")

    def _ns_ref(self, node: nodes.Name | nodes.NSRef) -> bool:
        self.names.add(node.name)
        # Python normalises names outside of ASCII, so two of Jinja2's names may be the same for Python.
        return node.name != "self" and node.name.isascii()

    def _const(self, node: nodes.Const) -> bool:
        value = node.value
        if type(value) is int:
            return value.bit_length() <= MAX_INT_BITS
        return value is None or type(value) in (str, float, bool)

    def _product(self, node: nodes.Mul | nodes.Pow) -> bool:
        # Jinja2 multiplies constants when it generates code, and then prints the number.
        return not _may_be_constant(node)

    def _dict(self, node: nodes.Dict) -> bool:
        # Jinja2 evaluates constant dicts when it generates code, and a list can't be a key.
        return all(type(pair.key) in (nodes.Const, nodes.Name) for pair in node.items)

    def _part(self, node: nodes.Getattr | nodes.Getitem | nodes.Filter) -> bool:
        # Jinja2 looks up parts of constants when it generates code. If there is no such part, it may then use an
        # undefined value.
        return not self._is_strict or not _may_be_constant(node)

    def _getitem(self, node: nodes.Getitem) -> bool:
        if not self._part(node):
            return False
        # Python warns of a slice of a number, and an expression of constants may become a number.
        whole: Any = node.node
        while isinstance(node.arg, nodes.Slice) and isinstance(whole, _SLICED):
            whole = whole.node
        return not isinstance(node.arg, nodes.Slice) or isinstance(whole, nodes.Name)

    def _call(self, node: nodes.Call | nodes.Filter | nodes.Test) -> bool:
        keys: list[Any] = [keyword.key for keyword in node.kwargs]
        # With `base`, a hexadecimal number may have any number of digits.
        return len(set(keys)) == len(keys) and all(
            key.isascii() and not key.startswith("_") and key not in ("caller", "base") for key in keys
        )

    def _filter(self, node: nodes.Filter) -> bool:
        most = {"int": 1, "map": MAX_MAP_ARGUMENTS}.get(node.name)
        if not self._part(node):
            return False
        is_few = most is None or (len(node.args) <= most and node.dyn_args is None and node.dyn_kwargs is None)
        return is_few and node.name in self._filters and self._call(node)

    def _test(self, node: nodes.Test) -> bool:
        return node.name in self._tests and self._call(node)

    def _if(self, node: nodes.If) -> bool:
        return len(node.elif_) <= MAX_WAYS

    def _control(self, _node: nodes.Node) -> bool:
        return self._in_loop

    def _for(self, node: nodes.For) -> bool:
        self.binds = True
        return not node.recursive

    def _macro(self, node: nodes.Macro | nodes.CallBlock) -> bool:
        self.binds = True
        names = {argument.name for argument in node.args}
        is_named = isinstance(node, nodes.CallBlock) or node.name.isascii()
        return is_named and len(names) == len(node.args) and not names & _MACRO_NAMES

    def _assign_block(self, node: nodes.AssignBlock) -> bool:
        self.binds = True
        # Jinja2 doesn't look for names in the arguments of the filter.
        return node.filter is None

    def _bind(self, _node: nodes.Node) -> bool:
        self.binds = True
        return True

    _checks: ClassVar[dict[type[nodes.Node], Callable[[Any, Any], bool]]] = {
        **dict.fromkeys(_BINDING, _bind),
        **dict.fromkeys((nodes.Break, nodes.Continue), _control),
        **dict.fromkeys((nodes.Macro, nodes.CallBlock), _macro),
        nodes.Name: _name,
        nodes.NSRef: _ns_ref,
        nodes.Const: _const,
        **dict.fromkeys((nodes.Mul, nodes.Pow), _product),
        nodes.Dict: _dict,
        nodes.Getattr: _part,
        nodes.Getitem: _getitem,
        nodes.Call: _call,
        nodes.Filter: _filter,
        nodes.Test: _test,
        nodes.If: _if,
        nodes.For: _for,
        nodes.AssignBlock: _assign_block,
    }


_BODIES = frozenset({nodes.For, nodes.Macro, nodes.CallBlock})


class Reference:
    """A template in an engine's environment: sandboxed, and limited in time and memory.

    Jinja2 generates the template's code when it renders the first row, unless generating the code might fail. The
    arguments are those of `environment`, and values that stand among what it has of its own.
    """

    __slots__ = ("_compiled", "_traced", "_tree", "environment", "names_read", "source")

    def __init__(
        self,
        source: str,
        environment_name: str = "jinja2",
        now: datetime | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        is_marked: bool = False,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.environment: BoundedEnvironment = environment(environment_name, now, options, is_marked=is_marked)
        self.environment.globals.update(constants or {})
        self._compiled: Template | None = None
        self._traced: Template | None = None
        BUDGET.start(steps=COMPILE_STEPS)
        try:
            self._tree: nodes.Template = self.environment.parse(source)
            is_strict = self.environment.undefined is StrictUndefined
            survey = Survey(self._tree, self.environment.filters, self.environment.tests, is_strict=is_strict)
            if not survey.is_certain:
                refuse_deep_expressions(self._tree)
                self._compiled = self.environment.from_string(source)
        except Exception as error:
            refusal = self.environment.refusal(source, error)
            raise _uncompilable(refusal) from refusal
        self.names_read = frozenset(survey.names) if survey.is_certain and not survey.binds else None
        """All names that the template reads, if it assigns to none; None: only Jinja2 can find out."""

    def ast(self) -> nodes.Template:
        """Return the tree of the template; each call returns the same tree."""
        return self._tree

    def _code(self) -> Template:
        if self._compiled is None:
            BUDGET.start(steps=COMPILE_STEPS)
            # From the source, because generating code changes the tree.
            self._compiled = self.environment.from_string(self.source)
        return self._compiled

    def render(self, names: Mapping[str, Any]) -> str:
        """Render one row."""
        code = self._code()
        BUDGET.start(names)
        try:
            return code.render(**names)
        except LimitExceededError as error:
            raise render_error("template_limit", str(error)) from None

    def parts(self, names: Mapping[str, Any]) -> list[Piece]:
        """Render one row; return the parts of its text with their origins, which data among the values bring."""
        if self._traced is None:
            BUDGET.start(steps=COMPILE_STEPS)
            self._traced = traced_template(self.environment, self.source)
        BUDGET.start(names)
        try:
            return pieces(self._traced.render(**names))
        except LimitExceededError as error:
            raise render_error("template_limit", str(error)) from None


def _uncompilable(error: Exception) -> TemplateError:
    if isinstance(error, LimitExceededError):
        return template_error("template_limit", "source", str(error))
    line = f"line {error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
    text = error.message if isinstance(error, TemplateSyntaxError) else str(error)
    return template_error("template_syntax", "source", f"{line}{type(error).__name__}: {text}")
