"""Loops over data: live iterators, comprehensions, and generator expressions that are evaluated as they are read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .harmless import is_harmless
from .limits import SLOT_CHARS
from .scopes import Scope
from .settled import settled_order
from .source import Source
from .values import Opaque, is_stream

END = object()
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def _iterator(values: Any) -> Iterator[Any]:
    settled_order(values)
    return iter(values)


class Iteration(Source):
    """Evaluates what repeats; `Expressions` brings the rest."""

    def eval(self, node: ast.expr) -> Any:
        """Evaluate an expression. `Expressions` does.

        Args:
            node: the expression.

        """
        raise NotImplementedError

    def data(self, node: ast.expr) -> Any:
        """Evaluate an expression whose value decides what happens next. `Expressions` does.

        Args:
            node: the expression.

        """
        raise NotImplementedError

    def undecided(self, opaque: Opaque, *rest: ast.AST) -> Opaque:
        """Leave an expression unevaluated. `Expressions` does.

        Args:
            opaque: the value that decides.
            rest: what is left unevaluated.

        """
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a value to a target. `Targets` does.

        Args:
            target: the target.
            value: the value.

        """
        raise NotImplementedError

    def iterator(self, node: ast.expr, values: Any) -> Any:
        """Return the iterator of a value that a loop runs over.

        Args:
            node: where the value stands.
            values: the value.

        Returns:
            Python's own iterator, so that a change of the value during the loop has Python's effect.

        Raises:
            RefusedError: if the value has no iterator, or no order of its own.

        """
        result = self.call(node, _iterator, (values,))
        if isinstance(result, Opaque):
            raise self.finally_(result.refusal)
        return result

    def next_item(self, node: ast.expr, iterator: Any) -> Any:
        """Return the next item of an iterator.

        Args:
            node: where its values stand.
            iterator: the iterator.

        Returns:
            The item, or `END`.

        Raises:
            RefusedError: if reading it fails.

        """
        self.budget.step()
        return self.call(node, next, (iterator, END), changes=True)

    def list_comprehension(self, node: ast.ListComp | ast.SetComp) -> Any:
        """Evaluate a list or set comprehension.

        Args:
            node: the comprehension.

        Returns:
            The list of its elements, also for a set; or an opaque value.

        """
        elements = self._elements_of(node, lambda: self.eval(node.elt))
        if isinstance(elements, Opaque):
            return elements
        result: list[object] = []
        for element in elements:
            self.budget.items(SLOT_CHARS)
            result.append(element)
        return result

    def set_comprehension(self, node: ast.SetComp) -> Any:
        """Evaluate a set comprehension.

        Args:
            node: the comprehension.

        Returns:
            The set, or an opaque value.

        """
        elements = self.list_comprehension(node)
        if isinstance(elements, Opaque):
            return elements
        self.call(node, self.budget.keys, elements)
        return self.call(node, set, (elements,))

    def dict_comprehension(self, node: ast.DictComp) -> Any:
        """Evaluate a dict comprehension.

        Args:
            node: the comprehension.

        Returns:
            The dict, or an opaque value.

        """
        pairs = self._elements_of(node, lambda: (self.eval(node.key), self.eval(node.value)))
        if isinstance(pairs, Opaque):
            return pairs
        collected: list[tuple[object, object]] = []
        for pair in pairs:
            self.budget.items(SLOT_CHARS)
            collected.append(pair)
        self.call(node, self.budget.keys, [key for key, _ in collected])
        return self.call(node, dict, (collected,))

    def generator(self, node: ast.GeneratorExp) -> Any:
        """Make the generator of a generator expression.

        Args:
            node: the expression.

        Returns:
            A generator that evaluates each element when it is asked for, or an opaque value.

        """
        return self._elements_of(node, lambda: self.eval(node.elt))

    def _elements_of(self, node: _Comprehension, element: Callable[[], Any]) -> Any:
        values = self.eval(node.generators[0].iter)  # as in Python, outside the scope of the comprehension
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
        """Yield elements, each evaluated in a scope of its own, whoever asks for it."""
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
