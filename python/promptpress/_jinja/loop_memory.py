"""Loops over messages whose turns are rendered once, for conversations that begin alike.

What a loop writes for a message depends on the message, its number and on what else the loop's body reads: later
messages (`loop.last`), fields of namespaces, names from around the loop. The largest expressions of these are searched
in the tree, and the body tells which of them it reads. Where they have the values that they had before, the text is
that of before, and so are the fields that the body has set. A loop that isn't understood is run as it stands.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from jinja2 import nodes
from jinja2.runtime import Undefined
from jinja2.utils import Namespace

from promptpress._jinja.traced_values import is_traced, plain
from promptpress._jinja.turn_order import PURE_FUNCTIONS, PURE_METHODS

MEMORY = "promptpress_memory"
"""The name of the memory among the values of a rendering."""
_TEXT = "promptpress_text"
"""The name of what a loop's body has written."""

_BY_NUMBER = frozenset({"index", "index0", "first", "depth", "depth0"})
_AROUND = frozenset({"last", "length", "revindex", "revindex0", "nextitem", "previtem"})
"""Attributes of `loop` that depend on the number of the message alone, and on other messages."""
_STATEMENTS = (
    *(nodes.Output, nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock, nodes.With, nodes.ExprStmt, nodes.Scope),
    *(nodes.CallBlock, nodes.FilterBlock, nodes.Continue, nodes.Break),
)
_UNFOLLOWED = (
    *(nodes.Block, nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport),
    *(nodes.ScopedEvalContextModifier, nodes.EvalContextModifier),
    *(nodes.ContextReference, nodes.DerivedContextReference),
)
_SCALARS = frozenset({str, int, float, bool, type(None)})
_MISSING = object()


class _NotFollowedError(Exception):
    """Raised for a loop whose body may depend on what isn't known."""


class Keys(NamedTuple):
    """The expressions on which the text of a loop's body may depend, and the fields of namespaces that it may set.

    The body tells which of the expressions it reads, but for the last ones, which `always` counts from.
    """

    expressions: list[nodes.Expr]
    always: int
    fields: list[tuple[str, str]]


def remember_loops(tree: Any) -> bool:
    """Change the loops over messages in a tree so that a memory has the texts of their turns; return true for any."""
    if any(True for _ in tree.find_all(_UNFOLLOWED)):
        return False
    count = 0
    for loop in list(_outer_loops(tree.body)):
        try:
            keys = _Body(loop, tree).keys()
        except _NotFollowedError:
            continue
        names = [MEMORY, loop.target.name, "loop", *(name for name, _ in keys.fields)]
        read = [*(nodes.Name(name, "load") for name in names), *keys.expressions]
        body = nodes.AssignBlock(nodes.Name(_TEXT, "store"), None, loop.body, lineno=loop.lineno)
        remembered = nodes.If(nodes.Tuple(read, "load"), [body], [], [], lineno=loop.lineno)
        vars(remembered)["write_code"] = partial(_write_body, (count, loop.target.name, keys))
        loop.body = [remembered]
        count += 1
    # A name that is read around a loop isn't looked up in each of its turns.
    tree.body[:0] = [nodes.ExprStmt(nodes.Name(name, "load"), lineno=1) for name in (MEMORY, _TEXT)]
    tree.set_environment(tree.environment)
    return count > 0


def _outer_loops(body: Iterable[nodes.Node]) -> Iterator[Any]:
    """Yield the outermost loops over lists that grow at their ends."""
    for node in body:
        if isinstance(node, nodes.For):
            if _grows(node.iter) and isinstance(node.target, nodes.Name) and not node.recursive:
                yield node
        elif isinstance(node, (nodes.If, nodes.With, nodes.Scope)):
            inner = [*node.body, *(getattr(node, "else_", None) or ())]
            yield from _outer_loops([*inner, *(getattr(node, "elif_", None) or ())])


def _grows(node: nodes.Node) -> bool:
    """Return true for a name, or for a slice that takes its items from the beginning on."""
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        is_forwards = node.arg.step is None and not isinstance(node.arg.start, nodes.Neg)
        return is_forwards and isinstance(node.node, nodes.Name)
    return isinstance(node, nodes.Name)


def _write_body(loop: tuple[int, str, Keys], code: Any, node: nodes.If, frame: Any) -> None:
    """Write the code of a loop's body that is remembered, given the loop's number, its target and its keys."""
    number, target, keys = loop

    def ref(name: str) -> str:
        return str(frame.symbols.ref(name))

    memory, kept, value = ref(MEMORY), code.temporary_identifier(), code.temporary_identifier()
    of_key = frame.soft()
    vars(of_key)["is_key"] = True

    def block(line: str, *lines: str) -> None:
        code.writeline(line)
        code.indent()
        for each in lines:
            code.writeline(each)

    def write_value(expression: nodes.Expr) -> None:
        is_truth = _is_truth(expression)
        block("try:", f"{value} = " if is_truth else f"{value} = {memory}.key(")
        code.visit(expression, of_key)
        code.write("" if is_truth else ")")
        code.outdent()
        block("except Exception:", f"{value} = {memory}")  # the body raises it too, if it comes to this expression
        code.outdent()

    key = f"({number}, id({ref(target)}), {ref('loop')}.index0)"
    code.writeline(f"{kept} = {memory}.texts.get({key})", node)
    if keys.expressions:
        block(f"while {kept}.__class__ is list:")
        for index, expression in enumerate(keys.expressions):
            block(f"{'elif' if index else 'if'} {kept}[0] == {index}:")
            write_value(expression)
            code.outdent()
        code.writeline(f"{kept} = {kept}[1].get({value})")
        code.outdent()
    fields = "".join(f"({ref(name)}, {field!r}), " for name, field in keys.fields)
    block(f"if {kept} is None:", f"{memory}.seen.clear()")
    for index, expression in enumerate(keys.expressions[keys.always :], keys.always):
        write_value(expression)
        code.writeline(f"{memory}.seen[{index}] = {value}")
    code.blockvisit(node.body, frame.soft())
    code.writeline(f"{kept} = {memory}.remember({ref(target)}, {key}, {ref(_TEXT)}, ({fields}))")
    code.outdent()
    if fields:
        block("else:", f"{memory}.restore({kept}, ({fields}))")
        code.outdent()
    code.writeline(f"yield {kept}[0]" if frame.buffer is None else f"{frame.buffer}.append({kept}[0])")


def _write_read(number: int, code: Any, node: Any, frame: Any) -> None:
    """Write the code of an expression that tells a memory what it is."""
    code.write(f"{frame.symbols.ref(MEMORY)}.saw({number}, ")
    code.visit(node.expr, frame)
    code.write(")")


class _Body:
    """The body of a loop, with the macros that it calls: what it reads and sets."""

    def __init__(self, loop: Any, tree: nodes.Template) -> None:
        self._loop = loop
        names = [node for node in tree.find_all(nodes.Name) if node.ctx != "load"]
        self._stored = {id(node): node.name for node in names}
        """The names that the template assigns anywhere, by their nodes."""
        self._assigned = frozenset(self._stored.values())
        macros = [node for node in tree.find_all(nodes.Macro) if node.name not in self._assigned]
        self._macros = {node.name: node for node in macros if node in tree.body}
        self._inner: set[str] = {"caller", "varargs", "kwargs"}
        self._fields: dict[tuple[str, str], None] = {}
        self._parts: list[nodes.Node] = []
        self._expressions: list[nodes.Expr] = []

    def keys(self) -> Keys:
        """Return what the text depends on; raise an error if that isn't known."""
        loop = self._loop
        called = self._add(loop.body)
        of_loop = {*self._inner, loop.target.name, "loop"}
        if any(map(_leaves, loop.body)) or loop.target.name in self._inner or "loop" in self._inner:
            raise _NotFollowedError
        done: list[str] = []
        while called:
            name = called.pop()
            if name in done:
                continue
            done.append(name)
            macro = self._macros[name]
            local = {argument.name for argument in macro.args} | {"caller", "varargs", "kwargs"}
            names = list(macro.find_all(nodes.Name))
            local |= {node.name for node in names if node.ctx != "load"}
            # A macro doesn't see the names of the loop around its call.
            if (of_loop - {"caller", "varargs", "kwargs"}) & {node.name for node in names} - local:
                raise _NotFollowedError
            called += self._add([*macro.defaults, *macro.body])
            self._inner |= local
        self._fields = {field: None for field in self._fields if field[0] not in self._inner}
        for part in loop.body:
            self._read(part, is_inner=False)
        always = len(self._expressions)
        for part in self._parts[len(loop.body) :]:
            self._read(part, is_inner=True, is_shared=True)
        self._expressions += [nodes.Getattr(nodes.Name(name, "load"), field, "load") for name, field in self._fields]
        # Before the body assigns such a name, it is that of around the loop.
        elsewhere = {*self._stored.values(), "messages", "add_generation_prompt"}
        self._expressions += [nodes.Name(name, "load") for name in sorted(self._inner & elsewhere)]
        return Keys(self._expressions, always, list(self._fields))

    def _add(self, body: Sequence[nodes.Node]) -> list[str]:
        """Add parts that are run with the body; return the names of the macros that they call."""
        self._parts += body
        called: list[str] = []
        for part in (part for node in body for part in (node, *node.find_all(nodes.Node))):
            if isinstance(part, nodes.Stmt) and not isinstance(part, _STATEMENTS):
                raise _NotFollowedError
            if isinstance(part, nodes.Name) and part.ctx != "load":
                self._inner.add(part.name)
                self._stored.pop(id(part), None)
            elif isinstance(part, nodes.NSRef):
                self._fields[part.name, part.attr] = None
            elif isinstance(part, nodes.Call):
                called += self._called(part)
            elif isinstance(part, nodes.Filter) and part.name == "random":
                raise _NotFollowedError
        return called

    def _called(self, node: nodes.Call) -> list[str]:
        """Return the name of the macro that is called, if any; refuse a function that may do more than give a value."""
        callee = node.node
        if isinstance(callee, nodes.Name) and callee.name in self._macros:
            return [callee.name]
        is_function = isinstance(callee, nodes.Name) and (callee.name == "caller" or self._is_function(callee.name))
        is_method = isinstance(callee, nodes.Getattr) and callee.attr in PURE_METHODS and not _is_loop(callee.node)
        if is_function or is_method or isinstance(callee, nodes.ExtensionAttribute):
            return []
        raise _NotFollowedError

    def _is_function(self, name: str) -> bool:
        return name in (*PURE_FUNCTIONS, "namespace") and name not in self._assigned

    def _read(self, node: nodes.Node, *, is_inner: bool, is_shared: bool = False) -> None:
        """Find the largest expressions that depend on more than the message and can be computed before the body.

        With `is_inner`, `loop` is that of a loop within the body. Macros, which are shared, don't tell what they read.
        """
        for name, children in list(node.iter_fields()):
            for child in children if isinstance(children, list) else [children]:
                if not isinstance(child, nodes.Node):
                    continue
                inner = is_inner or (isinstance(node, nodes.For) and name != "iter")
                if not isinstance(child, nodes.Expr):
                    self._read(child, is_inner=inner, is_shared=is_shared)
                elif not self._depends(child, inner):
                    continue
                elif isinstance(child, nodes.Not) or not self._is_ready(child, inner):
                    if isinstance(child, nodes.Name):
                        raise _NotFollowedError
                    self._read(child, is_inner=inner, is_shared=is_shared)
                else:
                    self._note(node, name, child, is_shared=is_shared)

    def _note(self, owner: nodes.Node, name: str, node: nodes.Expr, *, is_shared: bool) -> None:
        """Add an expression; let the body tell that it reads it."""
        if node not in self._expressions:
            self._expressions.append(node)
        if is_shared:
            return
        noted = nodes.MarkSafeIfAutoescape(node, lineno=node.lineno)
        vars(noted)["write_code"] = partial(_write_read, self._expressions.index(node))
        children = getattr(owner, name)
        setattr(
            owner, name, [noted if each is node else each for each in children] if type(children) is list else noted
        )

    def _depends(self, node: nodes.Node, is_inner: bool) -> bool:
        """Return true if a value may depend on more than the message, its number and arguments."""
        if isinstance(node, nodes.Getattr) and _is_loop(node.node):
            return not is_inner and node.attr not in _BY_NUMBER
        if isinstance(node, nodes.Name):
            if node.ctx != "load" or node.name in (*self._inner, *self._macros, self._loop.target.name):
                return False
            if node.name == "loop":
                return not is_inner
            return node.name in self._assigned or node.name in ("messages", "add_generation_prompt", "self")
        return any(self._depends(child, is_inner) for child in node.iter_child_nodes())

    def _is_ready(self, node: nodes.Node, is_inner: bool) -> bool:
        """Return true if an expression has the same value before the body as where the body computes it."""
        if isinstance(node, (nodes.Call, nodes.NSRef)):
            return False
        if isinstance(node, nodes.Getattr) and _is_loop(node.node):
            return not is_inner and (node.attr in _AROUND or node.attr in _BY_NUMBER)
        if isinstance(node, nodes.Name):
            return node.ctx == "load" and node.name not in (*self._inner, *self._macros, "loop")
        # A field that the body sets is a key with what it has before.
        return all(self._is_ready(child, is_inner) and not self._is_set(child) for child in node.iter_child_nodes())

    def _is_set(self, node: nodes.Node) -> bool:
        """Return true for what may be a field of a namespace that the body sets, whatever the namespace's name."""
        attributes = {attr for _, attr in self._fields}
        if isinstance(node, nodes.Getitem):
            is_name = isinstance(node.arg, (nodes.Const, nodes.Name, nodes.Getattr, nodes.Getitem))
            return bool(attributes) and is_name and getattr(node.arg, "value", None) in (None, *attributes)
        return getattr(node, "attr", None) in attributes


def _leaves(node: nodes.Node) -> bool:
    """Return true if a node contains a `continue` or a `break` of the loop around it."""
    if isinstance(node, (nodes.Continue, nodes.Break)):
        return True
    return not isinstance(node, nodes.For) and any(map(_leaves, node.iter_child_nodes()))


def _is_loop(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "loop"


def _is_truth(node: nodes.Expr) -> bool:
    """Return true for an expression whose value is a truth, which has no origin."""
    if isinstance(node, (nodes.And, nodes.Or)):
        return _is_truth(node.left) and _is_truth(node.right)
    if isinstance(node, nodes.Getattr):
        return _is_loop(node.node) and node.attr in ("first", "last")
    return isinstance(node, (nodes.Compare, nodes.Not, nodes.Test))


class UselessMemoryError(Exception):
    """Raised where most turns have to be rendered again for each conversation."""


class LoopMemory:
    """The texts of turns in the loops of one template, for conversations that begin alike.

    `living` has the ids of the messages, and of the lists and dicts in them, which have to live as long as the memory.
    More than `limit` texts are none that come again.
    """

    def __init__(self, living: Container[int], limit: int) -> None:
        self.texts: dict[Any, Any] = {}
        """Texts of messages, by their numbers and those of their loops, with the fields that were set; or the number of
        the expression that is read next, with the same by its values."""
        self.seen: dict[int, Any] = {}
        """The values of the expressions that the present body has read."""
        self._living = living
        self._limit = limit

    def saw(self, number: int, value: Any) -> Any:
        """Take note of an expression that is read."""
        self.seen.setdefault(number, self.key(value))
        return value

    def key(self, value: Any) -> Any:
        """Return what is equal only for values that no template can tell apart, whose origins are the same, too."""
        kind = type(value)
        if kind in _SCALARS:
            return (kind, value) if kind is int or kind is float else value
        if is_traced(value):
            return kind, plain(value), value.ends if isinstance(value, str) else value.origin  # type: ignore[attr-defined]
        if issubclass(kind, Undefined):
            return kind
        return (kind, id(value)) if id(value) in self._living else object()

    def remember(
        self, item: Any, key: tuple[int, int, int], text: str, fields: tuple[tuple[Any, str], ...]
    ) -> tuple[str, tuple[Any, ...]]:
        """Keep the text of a loop's turn, with the fields of namespaces that its body may have set."""
        values = tuple(_field(space, name) for space, name in fields)
        kept = text, values
        self._limit -= 1
        if self._limit < 0:
            raise UselessMemoryError
        keys = [*self.seen.values(), *(self.key(value) for value in values if value is not _MISSING)]
        if id(item) not in self._living or any(type(each) is object for each in keys):
            return kept
        level, edge = self.texts, key
        for number, value in self.seen.items():
            following = level.setdefault(edge, [number, {}])
            if type(following) is not list or following[0] != number:
                return kept
            level, edge = following[1], value
        level[edge] = kept
        return kept

    @staticmethod
    def restore(kept: tuple[str, tuple[Any, ...]], fields: tuple[tuple[Any, str], ...]) -> None:
        """Set the fields that the body has set when its text was kept."""
        for (space, name), value in zip(fields, kept[1], strict=True):
            if value is not _MISSING:
                space[name] = value


def _field(space: Any, name: str) -> Any:
    """Return a field of a namespace, which templates can't read as an item."""
    is_space = isinstance(space, Namespace)
    return object.__getattribute__(space, "_Namespace__attrs").get(name, _MISSING) if is_space else _MISSING
