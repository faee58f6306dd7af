"""The base classes of the file readers: names in their scopes, refusals, calls of Python's own functions, and loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from promptpress_harness.python_subset.values import (
    SLOT_CHARS,
    Budget,
    Opaque,
    RefusedError,
    Symbol,
    TooMuchError,
    UnsettledError,
    is_stream,
    opaque_in,
    settled_order,
)

_SYNTAX = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Dict, ast.Set,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.JoinedStr, ast.FormattedValue, ast.Call,
    ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_FUNCTIONS = {"len", "str", "repr", "int", "float", "bool", "range"}
_METHODS = {
    "endswith", "format", "get", "items", "keys", "lower", "lstrip", "replace", "rstrip", "split", "startswith",
    "strip", "title", "upper", "values",
}  # fmt: skip


def is_harmless(node: ast.AST) -> bool:
    """Return true if evaluating an expression changes no value and no name.

    Most calls, `:=`, and everything that may read from an iterator could.
    """
    return all(isinstance(part, _SYNTAX) and _is_harmless_part(part) for part in ast.walk(node))


def _is_harmless_part(node: ast.AST) -> bool:
    if isinstance(node, (ast.In, ast.NotIn)):  # `in` reads from an iterator
        return False
    if not isinstance(node, ast.Call):
        return True
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _METHODS
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    return name in _FUNCTIONS or (name == "dict" and not node.args)


def is_harmless_text(arguments: list[object]) -> bool:
    """Return true if `eval` with these arguments gets one text that is a harmless expression."""
    if len(arguments) != 1 or not isinstance(arguments[0], str) or len(arguments[0]) > 1000:
        return False
    try:
        return is_harmless(ast.parse(arguments[0], mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def names_read_by(node: ast.AST) -> set[str] | None:
    """Return the names that a function or class reads when it runs; None if it may also bind names of the file."""
    parts = list(ast.walk(node))
    if any(isinstance(part, ast.Global) for part in parts):
        return None
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


MISSING = object()
UNBOUND = object()
"""The value of a comprehension's loop variable before the loop sets it."""


class Scope:
    """The names of a module, a class body or a comprehension.

    The loop variables that a comprehension declares hide outer names even before they have a value.
    """

    def __init__(
        self, names: dict[str, object], outer: Scope | None = None, declared: Collection[str] = (), kind: str = "module"
    ) -> None:
        self.names = names
        # Code in a scope inside a class body can't see the names of the class.
        self.outer: Scope | None = outer.outer if outer is not None and outer.kind == "class" else outer
        self.declared = declared
        self.kind: str = kind

    def find(self, name: str) -> object:
        """Return the value of a name, `MISSING` or `UNBOUND`."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if name in scope.declared:
                return UNBOUND
            scope = scope.outer
        return MISSING

    def binding(self) -> Scope:
        """Return the scope in which `:=` binds a name, which is never a comprehension's."""
        scope = self
        while scope.kind == "comprehension" and scope.outer is not None:
            scope = scope.outer
        return scope


class Source:
    """A file that is being read; `path` is its name as the user gave it, and `budget` limits the cost."""

    def __init__(self, path: str, budget: Budget) -> None:
        self.path = path
        self.budget = budget
        self.names: dict[str, object] = {}
        self.scope = Scope(self.names)
        self.has_written = False
        # Generators that read from no other iterator and change nothing; one without a name may stay half read.
        self.without_effects: WeakSet[Any] = WeakSet()

    def refuse(self, node: ast.AST, problem: str, *, final: bool = False, broken: bool = False) -> RefusedError:
        """Make the refusal of the code at a node, of the whole file if `final`; `broken` code would fail anyway."""
        return RefusedError(self.path, getattr(node, "lineno", 1), problem, final=final or broken, broken=broken)

    def symbol(self, node: ast.AST, dotted: str, *, local: ast.stmt | None = None) -> Symbol:
        """Make the symbol of an imported or defined name; `local` is the definition of a function or class."""
        problem = f"{dotted!r}, which is {'defined as code here' if local else 'imported from other code'}"
        return Symbol(dotted, self.refuse(node, problem), local=local)

    @staticmethod
    def as_final(refusal: RefusedError) -> RefusedError:
        """Return the refusal of a value as the refusal of the whole file."""
        refusal.final = True
        return refusal

    def require_data(self, value: Any) -> Any:
        """Return a value, or refuse the file if the value is opaque."""
        if isinstance(value, Opaque):
            raise self.as_final(value.refusal)
        return value

    def call(
        self,
        node: ast.AST,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        changes: bool = False,
    ) -> Any:
        """Call one of Python's own functions on data; the result is opaque if it needs an opaque argument.

        `changes` is true if the function changes its arguments. The file is refused if the function fails, exceeds a
        limit, or needs an opaque argument after it may have changed data.
        """
        kwargs = kwargs or {}
        try:
            return function(*args, **kwargs)
        except RefusedError as error:
            refusal = error
        except TooMuchError as error:
            raise self.refuse(node, f"{error}: more than a configuration may ask for", broken=True) from None
        except RecursionError:
            raise
        except UnsettledError as error:
            refusal = self.refuse(node, f"{source_text(node)}: {error}")
        except Exception as error:  # an error of Python's functions ends the file in the harness too
            arguments = [*args, *kwargs.values()]
            opaque = opaque_in(arguments)
            if opaque is None:
                problem = f"{source_text(node)} fails with {type(error).__name__}: {str(error) or 'failed'}"
                raise self.refuse(node, problem, broken=True) from None
            refusal = opaque.refusal
            # If the opaque value is inside an argument, the function may have failed for another reason.
            changes = changes or not any(opaque is argument for argument in arguments)
        streams = [argument for argument in (*args, *kwargs.values()) if is_stream(argument)]
        may_skip = len(streams) == _generators(node) and self.without_effects.issuperset(streams)
        if changes or refusal.final or not may_skip:
            raise self.as_final(refusal) from None
        return Opaque(refusal.with_traceback(None))


def _generators(node: ast.AST) -> int:
    """Count the generator expressions among the arguments of a call."""
    return sum(isinstance(arg, ast.GeneratorExp) for arg in node.args) if isinstance(node, ast.Call) else 0


def source_text(node: ast.AST) -> str:
    """Return code in one line, shortened for an error message."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


END = object()
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def _iterator(values: Any) -> Iterator[Any]:
    settled_order(values)
    return iter(values)


class Iteration(Source):
    """The evaluation of loops; `Expressions` and `Targets` implement the abstract methods."""

    def eval(self, node: ast.expr) -> Any:
        """Evaluate an expression; see `Expressions`."""
        raise NotImplementedError

    def data(self, node: ast.expr) -> Any:
        """Evaluate an expression whose value decides how to go on; see `Expressions`."""
        raise NotImplementedError

    def undecided(self, opaque: Opaque, *rest: ast.AST) -> Opaque:
        """Leave expressions unevaluated because an opaque value decides; see `Expressions`."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a value to a target; see `Targets`."""
        raise NotImplementedError

    def iterator(self, node: ast.expr, values: Any) -> Any:
        """Return Python's own iterator of a value, so that changes during a loop have Python's effect."""
        return self.require_data(self.call(node, _iterator, (values,)))

    def next_item(self, node: ast.expr, iterator: Any) -> Any:
        """Return the next item of an iterator, or `END`."""
        self.budget.step()
        return self.call(node, next, (iterator, END), changes=True)

    def list_comprehension(self, node: ast.ListComp | ast.SetComp) -> Any:
        """Return the elements of a list or set comprehension as a list, or an opaque value."""
        elements = self._elements_of(node, lambda: self.eval(node.elt))
        if isinstance(elements, Opaque):
            return elements
        return self._counted(elements)

    def set_comprehension(self, node: ast.SetComp) -> Any:
        """Return the set of a set comprehension, or an opaque value."""
        elements = self.list_comprehension(node)
        if isinstance(elements, Opaque):
            return elements
        self.call(node, self.budget.keys, elements)
        return self.call(node, set, (elements,))

    def dict_comprehension(self, node: ast.DictComp) -> Any:
        """Return the dict of a dict comprehension, or an opaque value."""
        pairs = self._elements_of(node, lambda: (self.eval(node.key), self.eval(node.value)))
        if isinstance(pairs, Opaque):
            return pairs
        counted = self._counted(pairs)
        self.call(node, self.budget.keys, [key for key, _ in counted])
        return self.call(node, dict, (counted,))

    def _counted(self, elements: Iterable[Any]) -> list[Any]:
        result = []
        for element in elements:
            self.budget.items(SLOT_CHARS)
            result.append(element)
        return result

    def generator(self, node: ast.GeneratorExp) -> Any:
        """Return a generator that evaluates the elements while it is read, or an opaque value."""
        return self._elements_of(node, lambda: self.eval(node.elt))

    def _elements_of(self, node: _Comprehension, element: Callable[[], Any]) -> Any:
        values = self.eval(node.generators[0].iter)  # outside the comprehension's scope, as in Python
        if isinstance(values, Opaque):
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            conditions = [part for loop in node.generators for part in loop.ifs]
            return self.undecided(values, *parts, *conditions, *(loop.iter for loop in node.generators[1:]))
        targets = {
            part.id
            for loop in node.generators
            for part in ast.walk(loop.target)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        scope = Scope({}, self.scope, targets, "comprehension")
        iterator = self.iterator(node.generators[0].iter, values)
        elements = self._in_scope(scope, self._nested(node.generators, iterator, element))
        self.call(node, self.budget.nested, (elements, (iterator,)))
        parts = [] if isinstance(node, ast.DictComp) else [node.elt, *node.generators[0].ifs]
        if isinstance(node, ast.GeneratorExp) and len(node.generators) == 1 and not is_stream(values):
            self.without_effects.update([elements] if all(map(is_harmless, parts)) else [])
        return elements

    def _in_scope(self, scope: Scope, elements: Iterator[Any]) -> Iterator[Any]:
        """Yield elements, and evaluate each in its own scope wherever the generator is read."""
        while True:
            outer, self.scope = self.scope, scope
            try:
                element = next(elements, END)
            finally:
                self.scope = outer
            if element is END:
                return
            yield element

    def _nested(
        self, loops: Sequence[ast.comprehension], iterator: Iterator[Any], element: Callable[[], Any]
    ) -> Iterator[Any]:
        head, rest = loops[0], loops[1:]
        while (item := self.next_item(head.iter, iterator)) is not END:
            self.assign(head.target, item)
            if all(self.call(condition, bool, (self.data(condition),)) for condition in head.ifs):
                if rest:
                    yield from self._nested(rest, self.iterator(rest[0].iter, self.data(rest[0].iter)), element)
                else:
                    yield element()
