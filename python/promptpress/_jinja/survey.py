"""What a template's tree says of the code that Jinja2 would generate from it, before there is any.

Generating code takes longer than all else that is done with a template, and only rows that Jinja2 renders need it. So
it is generated with the first of them, unless generating or compiling it may fail: that has to be told when the
template is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import nodes

from promptpress._jinja.bounds import LimitExceededError

__all__ = ["Survey", "refuse_deep_expressions"]

MAX_DEPTH = 40
"""Python refuses code of 100 indentations or 200 open parentheses; a node of the tree takes one or two of them."""
MAX_EXPRESSION_DEPTH = 100
"""Jinja2's optimizer tries every part of an expression anew for each that it is part of: 300 take it half a minute."""
MAX_LOOPS = 12
"""Python refuses more than 20 blocks in one another."""
MAX_WAYS = 50
"""Each `elif` is nested in the one before, to Python's compiler."""
MAX_INT_BITS = 64
"""Python prints no number of more than 4,300 digits."""
MAX_MAP_ARGUMENTS = 2
"""More of them may be those of `int`."""

_MACRO_NAMES = frozenset({"caller", "varargs", "kwargs"})
_SLICED = (nodes.Getattr, nodes.Getitem, nodes.Call, nodes.Filter)
_BINDING = (nodes.Assign, nodes.AssignBlock, nodes.CallBlock, nodes.FilterBlock, nodes.For, nodes.Macro, nodes.With)

_BINARY = (
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow),
    *(nodes.And, nodes.Or),
)
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
"""The parts of each kind of node for which generating code may be certain not to fail; others aren't here."""


def refuse_deep_expressions(tree: nodes.Template) -> None:
    """Refuse expressions that Jinja2 would take very long to generate code for.

    Args:
        tree: As Jinja2 parses it.

    Raises:
        LimitExceededError: If one has parts within parts, more than `MAX_EXPRESSION_DEPTH` deep.

    """
    todo: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        depth = depth + 1 if isinstance(node, nodes.Expr) else 0
        if depth > MAX_EXPRESSION_DEPTH:
            message = f"an expression's parts lie within each other more than {MAX_EXPRESSION_DEPTH} deep"
            raise LimitExceededError(message)
        todo.extend((child, depth) for child in node.iter_child_nodes())


def _may_be_constant(node: nodes.Node) -> bool:
    """Tell whether Jinja2 may compute an expression when it generates code, although names may stand in it."""
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
    """Looks through a template's tree once.

    Args:
        tree: As Jinja2 parses it; it isn't changed.
        filters: The names of filters that there are.
        tests: The names of tests that there are.
        is_strict: Whether undefined values raise when they are used.

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
        """All names that occur; complete if `is_certain`."""
        self.binds = False
        """Whether it has statements that give names a value."""
        self.is_certain = self._is_certain(tree, 0)
        """Whether Jinja2 can generate its code, and Python compile it, without an error or a warning."""

    def _is_certain(self, node: nodes.Node, depth: int) -> bool:
        kind = type(node)
        parts = _PARTS.get(kind)
        if parts is None or depth > MAX_DEPTH:
            return False
        check = _CHECKS.get(kind)
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
        """The body of a loop, or of what becomes a function of its own."""
        before = self._in_loop, self._loops
        self._in_loop = type(node) is nodes.For
        self._loops += self._in_loop
        found = self._loops <= MAX_LOOPS and all(self._is_certain(child, depth + 1) for child in node.body)
        self._in_loop, self._loops = before
        return found

    # What may be wrong with a node, beside its parts. Each says whether nothing is.

    def _name(self, node: nodes.Name) -> bool:
        # Python takes names for one that Jinja2 tells apart, unless they are of ASCII.
        self.names.add(node.name)
        return node.name != "self" and node.name.isascii() and (node.ctx == "load" or node.name != "loop")

    def _ns_ref(self, node: nodes.NSRef) -> bool:
        self.names.add(node.name)
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
        # Jinja2 makes dicts of constants when it generates code, and a list is no key.
        return all(type(pair.key) in (nodes.Const, nodes.Name) for pair in node.items)

    def _part(self, node: nodes.Getattr | nodes.Getitem | nodes.Filter) -> bool:
        # Jinja2 takes parts of constants when it generates code. Where there is no such part, it may use what is
        # undefined then.
        return not self._is_strict or not _may_be_constant(node)

    def _getitem(self, node: nodes.Getitem) -> bool:
        if not self._part(node):
            return False
        # Python warns of a slice of a number. What is computed of constants alone becomes one.
        whole: Any = node.node
        while isinstance(node.arg, nodes.Slice) and isinstance(whole, _SLICED):
            whole = whole.node
        return not isinstance(node.arg, nodes.Slice) or isinstance(whole, nodes.Name)

    def _call(self, node: nodes.Call | nodes.Filter | nodes.Test) -> bool:
        keys: list[Any] = [keyword.key for keyword in node.kwargs]
        # A number that is read as a hexadecimal one may have any number of digits.
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
        # Jinja2 doesn't look for the names that its filter is given.
        return node.filter is None

    def _bind(self, _node: nodes.Node) -> bool:
        self.binds = True
        return True


_BODIES = frozenset({nodes.For, nodes.Macro, nodes.CallBlock})
_CHECKS: dict[type[nodes.Node], Callable[[Survey, Any], bool]] = {
    **dict.fromkeys(_BINDING, Survey._bind),
    **dict.fromkeys((nodes.Break, nodes.Continue), Survey._control),
    **dict.fromkeys((nodes.Macro, nodes.CallBlock), Survey._macro),
    nodes.Name: Survey._name,
    nodes.NSRef: Survey._ns_ref,
    nodes.Const: Survey._const,
    **dict.fromkeys((nodes.Mul, nodes.Pow), Survey._product),
    nodes.Dict: Survey._dict,
    nodes.Getattr: Survey._part,
    nodes.Getitem: Survey._getitem,
    nodes.Call: Survey._call,
    nodes.Filter: Survey._filter,
    nodes.Test: Survey._test,
    nodes.If: Survey._if,
    nodes.For: Survey._for,
    nodes.AssignBlock: Survey._assign_block,
}
