"""Names that a template reads although nothing has given them a value.

The statements are followed in their order, with what each name may hold. Conditions are open, but for those on
constants and on what is defined, so a name that some way sets counts as set: only a read before which no way sets the
name is reported, and every row that gets there reads an undefined value. Scopes are Jinja2's: loops, macros, `set`,
`with`, `filter` and `call` blocks have their own, branches of `if` haven't. The body of a macro is followed at each of
its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

from jinja2 import nodes
from jinja2.idtracking import VAR_LOAD_ALIAS, VAR_LOAD_RESOLVE, VAR_LOAD_UNDEFINED, Symbols

MAX_CALLS = 1000
"""Calls of macros that are followed; macros that call each other twice would take time without end."""
MAX_CALL_DEPTH = 10

_TESTS = frozenset({"defined", "undefined"})
_FILTERS = frozenset({"default", "d"})
_IN_MACROS = ("caller", "varargs", "kwargs")
_ALWAYS_GIVEN = frozenset({"self", "super"})


class _Function(NamedTuple):
    """A macro, or the body of a call block, with the scope that it was defined in."""

    node: nodes.Macro | nodes.CallBlock
    scope: _Scope


_Held: TypeAlias = "frozenset[_Function | bool]"
"""The values that a name may hold: macros, any other value (True), or nothing (False)."""
_UNSET: _Held = frozenset({False})
_SET: _Held = frozenset({True})


class _Scope:
    """The names of one of Jinja2's scopes, and what they may hold at the statement that is looked at.

    `outer` is the scope around it, None for a template and its blocks; `context` tells what the names hold that no
    scope around has; `branch` is the part of a loop.
    """

    __slots__ = ("context", "names", "outer", "symbols")

    def __init__(
        self,
        node: nodes.Node,
        outer: _Scope | None,
        context: Callable[[str], _Held],
        arguments: Iterable[str] = (),
        **branch: str,
    ) -> None:
        self.outer, self.context = outer, context
        self.symbols: Symbols = Symbols(parent=None if outer is None else outer.symbols)
        for name in arguments:
            self.symbols.declare_parameter(name)
        self.symbols.analyze_node(node, **branch)
        self.names = {name: self._at_first(name, reference) for name, reference in self.symbols.refs.items()}

    def _at_first(self, name: str, reference: str) -> _Held:
        """Return what Jinja2's code loads a name with, before the first statement."""
        load, _ = self.symbols.loads[reference]
        if load == VAR_LOAD_ALIAS and self.outer is not None:
            return self.outer.held(name)
        if load == VAR_LOAD_RESOLVE:
            return self.context(name)
        return _UNSET if load == VAR_LOAD_UNDEFINED else _SET

    def held(self, name: str) -> _Held:
        """Return what a name may hold."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return self.context(name)

    def inner(self, node: nodes.Node, arguments: Iterable[str] = (), **branch: str) -> _Scope:
        """Return a scope in this one, as the constructor."""
        return _Scope(node, self, self.context, arguments, **branch)


def _targets(target: nodes.Node) -> list[str]:
    """Return the names that an assignment sets."""
    names = [target] if isinstance(target, nodes.Name) else target.find_all(nodes.Name)
    return [name.name for name in names]


class _Reader:
    """Follows a template's statements; `given` are the names that rows and the environment give."""

    def __init__(self, tree: nodes.Template, given: Collection[str]) -> None:
        self.reads: dict[str, int] = {}
        self._given = given
        self._root = self._scope = _Scope(tree, None, self._context)
        self._blocks = {block.name: block for block in tree.find_all(nodes.Block)}
        self._depth = 0
        self._is_left = False
        self._calls = 0
        self._statements(tree.body)

    def _context(self, name: str, around: _Scope | None = None) -> _Held:
        """Return what a name holds in the context of a template or, with the scope around it, of a block."""
        held = _UNSET if around is None else around.held(name)
        is_given = name in self._given or name in _ALWAYS_GIVEN
        return held - _UNSET or _SET if is_given else held

    def _statements(self, body: Iterable[nodes.Node]) -> bool:
        """Follow statements; return false if no way leads past them."""
        return all(self._statement(node) for node in body)

    def _statement(self, node: nodes.Node) -> bool:
        follow = self._kinds.get(type(node))
        if follow is not None:
            return follow(self, node) is not False
        for child in node.iter_child_nodes():
            self._read(child)
        return True

    @contextmanager
    def _within(self, scope: _Scope) -> Iterator[None]:
        before, self._scope = self._scope, scope
        yield
        self._scope = before

    def _set(self, target: nodes.Node, held: _Held = _SET) -> None:
        is_name = isinstance(target, nodes.Name)
        self._scope.names.update(dict.fromkeys(_targets(target), held if is_name else _SET))

    def _if(self, node: nodes.If) -> bool:
        scope, ways = self._scope, list[dict[str, _Held]]()
        before, truth = scope.names, None
        scope.names = dict(before)
        for way in (node, *node.elif_):
            self._read(way.test)
            truth = self._truth(way.test)
            otherwise = dict(scope.names)
            self._assume(way.test, True)
            if truth is not False and self._statements(way.body):
                ways.append(scope.names)
            scope.names = otherwise
            self._assume(way.test, False)
            if truth is True:
                break
        if truth is not True and self._statements(node.else_):
            ways.append(scope.names)
        scope.names = before
        names = {name for way in ways for name in way}
        scope.names = {name: _joined(way.get(name) or scope.held(name) for way in ways) for name in names}
        return bool(ways)

    def _for(self, node: nodes.For) -> None:
        self._read(node.iter)
        items = len(node.iter.items) if isinstance(node.iter, (nodes.List, nodes.Tuple)) else None
        before, self._is_left = self._is_left, False
        if items != 0 and self._may_have_items(node):
            with self._within(self._scope.inner(node, ["loop"], for_branch="body")):
                self._statements(node.body)
        is_left, self._is_left = self._is_left, before
        # Jinja2 comes to `else` if no item's statements were followed to their end.
        if not items or node.test is not None or is_left:
            with self._within(self._scope.inner(node, for_branch="else")):
                self._statements(node.else_)

    def _may_have_items(self, node: nodes.For) -> bool:
        """Read a loop's condition, and return whether an item may meet it."""
        if node.test is None:
            return True
        with self._within(self._scope.inner(node, for_branch="test")):
            self._read(node.test)
            return self._truth(node.test) is not False

    def _assign(self, node: nodes.Assign) -> None:
        for reference in node.find_all(nodes.NSRef):
            self._load(reference)
        self._read(node.node)
        self._set(node.target, self._value(node.node))

    def _assign_block(self, node: nodes.AssignBlock) -> None:
        with self._within(self._scope.inner(node)):
            self._statements(node.body)
            if node.filter is not None:
                self._read(node.filter)
        for reference in [node.target] if isinstance(node.target, nodes.NSRef) else node.target.find_all(nodes.NSRef):
            self._load(reference)
        self._set(node.target)

    def _filter_block(self, node: nodes.FilterBlock) -> None:
        with self._within(self._scope.inner(node)):
            self._statements(node.body)
            self._read(node.filter)

    def _with(self, node: nodes.With) -> None:
        for value in node.values:
            self._read(value)
        held = [self._value(value) for value in node.values]
        with self._within(self._scope.inner(node)):
            for target, of_target in zip(node.targets, held, strict=True):
                self._set(target, of_target)
            self._statements(node.body)

    def _nested(self, node: nodes.Scope | nodes.ScopedEvalContextModifier) -> bool:
        if isinstance(node, nodes.ScopedEvalContextModifier):
            for option in node.options:
                self._read(option)
            return self._statements(node.body)
        with self._within(self._scope.inner(node)):
            return self._statements(node.body)

    def _macro(self, node: nodes.Macro) -> None:
        self._scope.names[node.name] = frozenset({_Function(node, self._scope)})

    def _call_block(self, node: nodes.CallBlock) -> None:
        body = _Function(node, self._scope)
        self._call(node.call, frozenset({body}))
        if isinstance(node.call.node, nodes.ExtensionAttribute):
            # An extension's tag, such as `generation`, which renders its body.
            self._run(body, None, _SET)

    def _block(self, node: nodes.Block) -> None:
        self._run_block(node, self._scope if node.scoped else self._root)

    def _run_block(self, node: nodes.Block, around: _Scope) -> None:
        """Follow the statements of a block, which sees the outermost names alone, unless it is `scoped`."""
        self._calls += 1
        if self._depth > MAX_CALL_DEPTH or self._calls > MAX_CALLS:
            return
        self._depth += 1
        with self._within(_Scope(node, None, partial(self._context, around=around))):
            self._statements(node.body)
        self._depth -= 1

    def _import(self, node: nodes.Import | nodes.FromImport) -> None:
        self._read(node.template)
        pairs = [node.target] if isinstance(node, nodes.Import) else node.names
        self._scope.names.update({name[1] if isinstance(name, tuple) else name: _SET for name in pairs})

    def _leave_loop(self, _node: nodes.Node) -> bool:
        self._is_left = True
        return False

    _kinds: ClassVar[dict[type[nodes.Node], Callable[[Any, Any], bool | None]]] = {
        nodes.If: _if,
        nodes.For: _for,
        nodes.Assign: _assign,
        nodes.AssignBlock: _assign_block,
        nodes.FilterBlock: _filter_block,
        nodes.With: _with,
        **dict.fromkeys((nodes.Scope, nodes.ScopedEvalContextModifier), _nested),
        nodes.Macro: _macro,
        nodes.CallBlock: _call_block,
        nodes.Block: _block,
        **dict.fromkeys((nodes.Import, nodes.FromImport), _import),
        **dict.fromkeys((nodes.Break, nodes.Continue), _leave_loop),
    }

    # Expressions: which names they read.

    def _load(self, node: nodes.Name | nodes.NSRef) -> None:
        # Without a call block there is no `caller`, which no column could be meant by.
        if self._scope.held(node.name) == _UNSET and not (self._depth and node.name == "caller"):
            self.reads.setdefault(node.name, node.lineno)

    def _read(self, node: nodes.Node) -> None:
        """Note the names that an expression reads where they are undefined."""
        if isinstance(node, nodes.Name):
            self._load(node)
        elif isinstance(node, nodes.CondExpr):
            self._read(node.test)
            truth = self._truth(node.test)
            if truth is not False:
                self._read(node.expr1)
            if truth is not True and node.expr2 is not None:
                self._read(node.expr2)
        elif isinstance(node, (nodes.And, nodes.Or)):
            self._read(node.left)
            if self._truth(node.left) is not isinstance(node, nodes.Or):
                self._read(node.right)
        elif isinstance(node, nodes.Test) and node.name in _TESTS and isinstance(node.node, nodes.Name):
            pass
        elif isinstance(node, nodes.Filter) and node.name in _FILTERS and isinstance(node.node, nodes.Name):
            # A name that stands there alone is only read if the other isn't defined.
            is_unused = self._scope.held(node.node.name) == _SET and len(node.args) == 1 and not node.kwargs
            if not (is_unused and isinstance(node.args[0], nodes.Name)):
                self._read_all(*node.args, *node.kwargs)
        elif isinstance(node, nodes.Call):
            self._call(node, _UNSET)
        else:
            self._read_all(*node.iter_child_nodes())

    def _read_all(self, *parts: nodes.Node) -> None:
        for part in parts:
            self._read(part)

    def _truth(self, node: nodes.Node) -> bool | None:
        """Return whether a condition holds, if constants and what is defined decide that; else None."""
        if isinstance(node, nodes.Const):
            return bool(node.value)
        if isinstance(node, nodes.Not):
            truth = self._truth(node.node)
            return None if truth is None else not truth
        if isinstance(node, (nodes.And, nodes.Or)):
            decides = isinstance(node, nodes.Or)
            ways = self._truth(node.left), self._truth(node.right)
            if decides in ways:
                return decides
            return None if None in ways else not decides
        if isinstance(node, nodes.Test) and node.name in _TESTS and isinstance(node.node, nodes.Name):
            held = self._scope.held(node.node.name)
            if False not in held or held == _UNSET:
                return (held == _UNSET) == (node.name == "undefined")
        return None

    def _assume(self, node: nodes.Node, truth: bool) -> None:
        """Take a condition for true or false: what it says of names that may be set."""
        if isinstance(node, nodes.Not):
            self._assume(node.node, not truth)
        elif isinstance(node, (nodes.And, nodes.Or)) and truth is isinstance(node, nodes.And):
            self._assume(node.left, truth)
            self._assume(node.right, truth)
        elif isinstance(node, nodes.Test) and node.name in _TESTS and isinstance(node.node, nodes.Name):
            name = node.node.name
            held = self._scope.held(name)
            is_defined = truth is (node.name == "defined")
            self._scope.names[name] = (held - _UNSET or held) if is_defined else _UNSET

    def _value(self, node: nodes.Node) -> _Held:
        """Return what an expression's value may be, as far as macros go."""
        if isinstance(node, nodes.Name):
            held = self._scope.held(node.name)
            return held if any(isinstance(function, _Function) for function in held) else _SET
        return _SET

    # Calls of macros.

    def _call(self, node: nodes.Call, caller: _Held) -> None:
        """Follow a call."""
        callee = node.node
        self._read(callee)
        extra = [part for part in (node.dyn_args, node.dyn_kwargs) if part is not None]
        self._read_all(*node.args, *node.kwargs, *extra)
        if isinstance(callee, nodes.Name):
            self._run_any(self._scope.held(callee.name), node, caller)
        elif isinstance(callee, nodes.Getattr) and callee.node == nodes.Name("self", "load"):
            block = self._blocks.get(callee.attr)
            if block is not None:
                self._run_block(block, self._root)

    def _run_any(self, held: _Held, call: nodes.Call, caller: _Held) -> None:
        """Follow what a call may run: only what each of the macros reads is surely read."""
        if not all(isinstance(function, _Function) for function in held):
            return
        before, each = self.reads, []
        for function in held:
            self.reads = {}
            if isinstance(function, _Function):
                self._run(function, call, caller)
            each.append(self.reads)
        self.reads = before
        for name, line in each[0].items():
            if all(name in lines for lines in each):
                self.reads.setdefault(name, line)

    def _run(self, function: _Function, call: nodes.Call | None, caller: _Held) -> None:
        """Follow the body of a macro."""
        self._calls += 1
        if self._depth > MAX_CALL_DEPTH or self._calls > MAX_CALLS:
            return
        node = function.node
        passed = self._passed(node, call)
        scope = function.scope.inner(node, _IN_MACROS)
        arguments = [argument.name for argument in node.args]
        scope.names |= {"caller": caller} | {name: passed.get(name, _UNSET) for name in arguments}
        self._depth += 1
        with self._within(scope):
            defaults = [None] * (len(arguments) - len(node.defaults)) + node.defaults
            for name, default in zip(arguments, defaults, strict=True):
                if name not in passed:
                    if default is not None:
                        self._read(default)
                    scope.names[name] = _SET if default is None else self._value(default)
            self._statements(node.body)
        self._depth -= 1

    def _passed(self, node: nodes.Macro | nodes.CallBlock, call: nodes.Call | None) -> dict[str, _Held]:
        """Return what a call gives a macro's arguments, of which it may give any if they are unpacked."""
        if call is None or call.dyn_args is not None or call.dyn_kwargs is not None:
            return {argument.name: _SET for argument in node.args}
        passed = {argument.name: self._value(value) for argument, value in zip(node.args, call.args, strict=False)}
        return passed | {keyword.key: self._value(keyword.value) for keyword in call.kwargs}


def _joined(each: Iterable[_Held]) -> _Held:
    """Return what a name may hold after one of several ways."""
    return frozenset().union(*each)


def undefined_names(tree: nodes.Template, given: Collection[str]) -> dict[str, int]:
    """Return the names that a template reads before anything can have set them, with the line of the first read."""
    try:
        return _Reader(tree, given).reads
    except RecursionError:
        return {}  # nested deeper than can be followed, so nothing is certain


def guarded_names(tree: nodes.Template) -> frozenset[str]:
    """Return the names that a template tests with `is defined`, or gives a `default`, wherever it does so.

    One guard is enough: a template that guards a name once knows that it may be missing. What the name is bound to at
    that place isn't looked at, so a guard of a loop's variable counts for a column of its name, too.
    """
    names = (
        node.node.name
        for node in tree.find_all((nodes.Test, nodes.Filter))
        if isinstance(node.node, nodes.Name) and node.name in (_TESTS if isinstance(node, nodes.Test) else _FILTERS)
    )
    return frozenset(names)
