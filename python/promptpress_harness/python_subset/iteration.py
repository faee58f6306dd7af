"""Loops over data: iterators, comprehensions, and generator expressions, which are evaluated while they are read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from promptpress_harness.python_subset.harmless import is_harmless
from promptpress_harness.python_subset.limits import SLOT_CHARS, settled_order
from promptpress_harness.python_subset.source import Scope, Source
from promptpress_harness.python_subset.values import Opaque, is_stream

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
