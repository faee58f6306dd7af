"""Proof that a chat template writes turn after turn: each turn's text is made of the turns so far alone.

The statements are followed with what each value may depend on: arguments and the first message alone, the turns so
far, or later turns. Text before the loop over the messages has to be of the first kind, text in it of the first two,
and none may follow it. What isn't followed isn't proven. `raise_exception` is no text, as such a conversation has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from jinja2 import nodes

_MAX_DEPTH = 8
"""Loops and calls of macros within each other that are followed."""
_FIXED, _SO_FAR, _LATER = range(3)
"""Levels of values, which depend on arguments and the first message, on the turns so far, or on later turns."""
_UNKNOWN, _TRUE, _FALSE = object(), frozenset({1}), frozenset[int]()
"""Values that aren't known, and values of which only the truth is known."""
PURE_FUNCTIONS = frozenset({"range", "dict", "strftime_now", "raise_exception"})
PURE_METHODS = frozenset({*dir(str), "get", "items", "keys", "values", "count", "index"})
"""Methods that change nothing."""
_AHEAD = frozenset({"last", "length", "revindex", "revindex0", "nextitem"})
"""Attributes of `loop` that show what comes after the present item."""


class _UnprovenError(Exception):
    """Raised where a template may write a turn by what comes after it, or does what isn't followed."""


class _Value(NamedTuple):
    """A value as far as it is known: its level with the reason, its content, and its kind.

    `kind` is "messages" for a list of messages that more turns only make longer, "loop", "namespace", "macro", or
    empty. `ref` is true for the list of all messages and for the loop over turns, and the node of a macro or namespace.
    """

    level: int = _FIXED
    why: str = ""
    content: Any = _UNKNOWN
    kind: str = ""
    ref: Any = None

    def whole(self) -> _Value:
        """Return the value as one whole, which shows all messages of a list, and all fields of a namespace."""
        return _Value(_LATER, f"all {self.kind} at once") if self.kind else self

    def under(self, control: _Value) -> _Value:
        """Return the value that a statement gives under a condition."""
        value = self.whole() if control.level and self.kind == "messages" else self
        return value._replace(level=control.level, why=control.why) if control.level > value.level else value

    def truth(self) -> bool | None:
        if self.kind:
            return True if self.kind != "messages" or self.ref else None
        return None if self.content is _UNKNOWN else bool(self.content)


def _joined(values: Iterable[_Value]) -> _Value:
    """Return what is known of a value that depends on some values."""
    most = max((value.whole() for value in values), key=lambda value: value.level, default=_Value())
    return _Value(most.level, most.why)


def _either(a: _Value, b: _Value) -> _Value:
    """Return what is known of a value that is one of two."""
    if a.kind == b.kind == "messages":
        return a._replace(ref=a.ref and b.ref)
    is_same = a.kind == b.kind and a.ref is b.ref and type(a.content) is type(b.content) and a.content == b.content
    return max(a, b, key=lambda value: value.level) if is_same else _joined((a, b))


class _Proof:
    """Follows the statements of a template, of which some names have known values; methods have the names of nodes."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._names = {name: _Value(content=value) for name, value in values.items()}
        self._names["messages"] = _Value(kind="messages", ref=True)
        self._outermost: dict[str, _Value] | None = None
        self._fields: dict[tuple[int, str], _Value] = {}
        self._control = _Value()
        self._captured: _Value | None = None
        self._depth = 0
        self._in_turns = self._wrote_turns = self._is_over = False

    def statements(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            follow = getattr(self, f"_{type(node).__name__.lower()}", None)
            if follow is None:
                raise _UnprovenError(f"line {node.lineno}: {type(node).__name__} isn't followed")
            follow(node)

    @contextmanager
    def _under(self, condition: _Value) -> Iterator[None]:
        before, self._control = self._control, _joined((self._control, condition))
        yield
        self._control = before

    def _output(self, node: nodes.Output) -> None:
        for part in node.nodes:
            value = _Value(content=part.data) if isinstance(part, nodes.TemplateData) else self._value(part)
            if value.content == "":
                continue
            value = _joined((value, self._control))
            if self._captured is not None:
                self._captured = _joined((self._captured, value))
            elif self._is_over:
                raise _UnprovenError(f"line {part.lineno}: text follows the turns")
            elif value.level > (_SO_FAR if self._in_turns else _FIXED):
                raise _UnprovenError(f"line {part.lineno}: text depends on {value.why}")
            else:
                self._wrote_turns |= self._in_turns

    def _if(self, node: nodes.If) -> None:
        test, otherwise = self._value(node.test), node.else_
        if node.elif_:
            first = node.elif_[0]
            otherwise = [nodes.If(first.test, first.body, node.elif_[1:], node.else_, lineno=first.lineno)]
        if (truth := test.truth()) is not None:
            self.statements(node.body if truth else otherwise)
            return
        before, is_over = dict(self._names), self._is_over
        with self._under(test):
            self.statements(node.body)
            after, self._names = self._names, before
            is_over, self._is_over = self._is_over, is_over
            self.statements(otherwise)
        names, self._is_over = self._names, self._is_over or is_over
        self._names = {name: _either(after.get(name, _Value()), names.get(name, _Value())) for name in {*after, *names}}

    def _for(self, node: nodes.For) -> None:
        items, before = self._value(node.iter), self._names
        is_turns = items.kind == "messages" and not self._depth and not self._control.level
        of_items = _Value(_SO_FAR) if is_turns else items.whole()
        if node.recursive or node.else_ or self._depth > _MAX_DEPTH:
            raise _UnprovenError(f"line {node.lineno}: this loop isn't followed")
        if not self._depth:
            self._outermost = before
        self._depth, self._in_turns = self._depth + 1, self._in_turns or is_turns
        fields = None
        while fields != self._fields:
            fields, self._names = dict(self._fields), dict(before)
            self._bind(node.target, of_items)
            self._names["loop"] = _Value(of_items.level, of_items.why, kind="loop", ref=is_turns)
            with self._under(of_items), self._under(_Value() if node.test is None else self._value(node.test)):
                self.statements(node.body)
        self._depth, self._names = self._depth - 1, before
        if is_turns:
            self._in_turns, self._is_over = False, self._is_over or self._wrote_turns
            ended = _Value(_LATER, "what all turns have set")
            self._fields = {key: value.under(ended) if value.level else value for key, value in self._fields.items()}

    def _bind(self, target: nodes.Node, value: _Value) -> None:
        """Give a value to the names of a target, or to the field of a namespace, which keeps its earlier values."""
        value = value.under(self._control)
        if isinstance(target, nodes.Name):
            self._names[target.name] = value
        elif not isinstance(target, nodes.NSRef):
            for item in target.iter_child_nodes():
                self._bind(item, value.whole())
        elif (space := self._names.get(target.name, _Value())).kind == "namespace":
            self._set((space.ref, target.attr), value)
        else:
            raise _UnprovenError(f"line {target.lineno}: the namespace {target.name} isn't known")

    def _set(self, field: tuple[int, str], value: _Value) -> None:
        self._fields[field] = _either(self._fields.get(field, value), value)

    def _assign(self, node: nodes.Assign) -> None:
        self._bind(node.target, self._value(node.node))

    def _assignblock(self, node: nodes.AssignBlock) -> None:
        filtered = _Value() if node.filter is None else self._value(node.filter)
        self._bind(node.target, _joined((self._capture(node.body), filtered)))

    def _capture(self, body: Iterable[nodes.Node]) -> _Value:
        """Follow statements whose text becomes a value, in a scope of their own."""
        before, names = self._captured, dict(self._names)
        self._captured, self._depth = _Value(), self._depth + 1
        self.statements(body)
        value, self._captured, self._names, self._depth = self._captured, before, names, self._depth - 1
        return value

    def _callblock(self, node: nodes.CallBlock) -> None:
        if not isinstance(node.call.node, nodes.ExtensionAttribute):  # `generation` renders its body
            raise _UnprovenError(f"line {node.lineno}: a call block isn't followed")
        before = dict(self._names)
        self.statements(node.body)
        self._names = before

    def _macro(self, node: nodes.Macro) -> None:
        self._names[node.name] = _Value(kind="macro", ref=node)

    # Expressions: a method returns what is known of the value.

    def _value(self, node: nodes.Node) -> _Value:
        follow = getattr(self, f"_{type(node).__name__.lower()}", None)
        value: _Value = _joined(map(self._value, node.iter_child_nodes())) if follow is None else follow(node)
        return value

    def _const(self, node: nodes.Const) -> _Value:
        return _Value(content=node.value)

    def _name(self, node: nodes.Name) -> _Value:
        return self._names.get(node.name, _Value())

    def _not(self, node: nodes.Not) -> _Value:
        value = self._value(node.node)
        return value.whole() if value.truth() is None else _Value(content=not value.truth())

    def _and(self, node: nodes.And | nodes.Or) -> _Value:
        decides = isinstance(node, nodes.Or)
        left = self._value(node.left)
        if left.truth() is not None:
            return left if left.truth() is decides else self._value(node.right)
        right = self._value(node.right)
        truth = (_TRUE if decides else _FALSE) if right.truth() is decides else _UNKNOWN
        return _joined((left, right))._replace(content=truth)

    _or = _and

    def _test(self, node: nodes.Test) -> _Value:
        value = self._value(node.node)
        is_defined = isinstance(value.content, (bool, str)) and node.name in ("defined", "undefined")
        truth = (node.name == "defined") if is_defined else _UNKNOWN
        return _joined((value, *map(self._value, node.args)))._replace(content=truth)

    def _filter(self, node: nodes.Filter) -> _Value:
        if node.name == "random":
            raise _UnprovenError(f"line {node.lineno}: chance isn't followed")
        return _joined(map(self._value, node.iter_child_nodes()))

    def _getitem(self, node: nodes.Getitem | nodes.Getattr) -> _Value:
        owner = self._value(node.node)
        part = nodes.Const(node.attr) if isinstance(node, nodes.Getattr) else node.arg
        index = self._value(part)
        if owner.kind == "messages":
            return self._message(owner, part, index.content)
        if owner.kind == "loop" and isinstance(index.content, str):
            is_ahead = owner.ref and index.content in _AHEAD
            return _Value(_LATER, f"loop.{index.content}") if is_ahead else _Value(owner.level, owner.why)
        if owner.kind == "namespace" and isinstance(index.content, str):
            return self._fields.get((owner.ref, index.content), _Value()).under(_Value(owner.level, owner.why))
        return _joined((owner, index))

    _getattr = _getitem

    def _message(self, messages: _Value, part: nodes.Node, index: Any) -> _Value:
        """Return the first of all messages, or all messages from one on; any other may be a later one."""
        if type(index) is int and index == 0 and messages.ref:
            return _Value()
        if isinstance(part, nodes.Slice) and part.stop is None and part.step is None:
            start = 0 if part.start is None else self._value(part.start).content
            if type(start) is int and start >= 0:
                return messages._replace(ref=messages.ref and not start)
        return _Value(_LATER, f"messages[{index if type(index) is int else '...'}]")

    def _call(self, node: nodes.Call) -> _Value:
        callee = node.node
        given = _joined(map(self._value, [part for part in node.iter_child_nodes() if part is not callee]))
        if isinstance(callee, nodes.Getattr) and callee.attr in PURE_METHODS:
            return _joined((self._value(callee.node), given))
        function = self._value(callee)
        name = callee.name if isinstance(callee, nodes.Name) else getattr(callee, "attr", "?")
        is_open = node.dyn_args is not None or node.dyn_kwargs is not None or self._depth > _MAX_DEPTH
        if function.kind == "macro" and not is_open:
            return self._run(function.ref, node)
        if name == "namespace" and not node.args and not is_open:
            for pair in node.kwargs:
                self._set((id(node), pair.key), self._value(pair.value).under(self._control))
            return _Value(kind="namespace", ref=id(node))
        if name not in PURE_FUNCTIONS:
            raise _UnprovenError(f"line {node.lineno}: the call of {name} isn't followed")
        return _Value(content="") if name == "raise_exception" else given

    def _run(self, macro: nodes.Macro, call: nodes.Call) -> _Value:
        """Follow the body of a macro; a name in it may be that of the outermost scope or of the call."""
        arguments = [argument.name for argument in macro.args]
        given = dict.fromkeys((*arguments, "varargs", "kwargs"), _joined(map(self._value, call.args)))
        given |= zip(arguments[::-1], map(self._value, macro.defaults[::-1]), strict=False)
        given |= zip(arguments, map(self._value, call.args), strict=False)
        given |= {pair.key: self._value(pair.value) for pair in call.kwargs}
        before, outermost = self._names, self._outermost if self._depth and self._outermost else self._names
        self._names = {name: _either(value, outermost.get(name, value)) for name, value in before.items()} | given
        value, self._names = self._capture(macro.body), before
        return value


def unproven(tree: nodes.Template, values: dict[str, Any]) -> str | None:
    """Return why it isn't proven that a longer conversation's text begins with a shorter one's; None if it is proven.

    `values` are those of names that the template is given; those of all others may be anything.
    """
    try:
        _Proof(values).statements(tree.body)
    except _UnprovenError as reason:
        return str(reason)
    except RecursionError:
        return "it is nested deeper than can be followed"
    return None
