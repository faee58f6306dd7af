"""Targets of assignments, in-place changes and deletions."""

from __future__ import annotations

import ast
import operator
from typing import Any

from promptpress_harness.python_subset.expressions import Expressions
from promptpress_harness.python_subset.harness_dict import METHOD_NAMES, HarnessDict
from promptpress_harness.python_subset.limits import SLOT_CHARS, settled_order
from promptpress_harness.python_subset.source import MISSING, source_text
from promptpress_harness.python_subset.values import Opaque


class Targets(Expressions):
    """The binding of names and parts of data, in Python's order; each method refuses targets that aren't data."""

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a value, which may be opaque, to a name, to several names, or to a part of data."""
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, self.require_data(value))
        elif isinstance(target, ast.Subscript):
            owner = self.data(target.value)
            self._set_item(target, owner, self.data(target.slice), value)
        elif isinstance(target, ast.Attribute):
            self._set_attribute(target, self.data(target.value), value)
        else:
            raise self.refuse(target, f"assignment to {source_text(target)}", final=True)

    def _set_item(self, target: ast.Subscript, owner: Any, key: Any, value: Any) -> None:
        self.call(target, self.budget.keys, (key,))
        if isinstance(key, slice):
            self.call(target, settled_order, (value,), changes=True)
        if hasattr(value, "__len__") and not isinstance(value, Opaque):
            self.call(target, self.budget.items, (SLOT_CHARS * (1 + len(value)),))
        if isinstance(owner, HarnessDict):
            self.call(target, self.budget.deep, (value,))
        self.call(target, operator.setitem, (owner, key, value), changes=True)

    def _set_attribute(self, target: ast.Attribute, owner: Any, value: Any) -> None:
        if not isinstance(owner, HarnessDict) or target.attr in METHOD_NAMES or target.attr.startswith("_"):
            raise self.refuse(target, f"assignment to {source_text(target)}", final=True)
        self.call(target, operator.setitem, (owner, target.attr, value), changes=True)

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        values = [*self._all_of(target, value)]
        star = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
        count = len(target.elts)
        if len(values) != count if star is None else len(values) < count - 1:
            raise self.refuse(target, f"{len(values)} values for {count} names", broken=True)
        if star is not None:
            end = len(values) - (count - star - 1)
            values = [*values[:star], values[star:end], *values[end:]]
        for part, item in zip(target.elts, values, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item)

    def augment(self, node: ast.AugAssign) -> None:
        """Change a name or a part of data in place; its owner and key are evaluated once."""
        target = node.target
        if isinstance(target, ast.Name):
            current = self.data(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            self.scope.names[target.id] = self._changed(node, current)
        elif isinstance(target, ast.Subscript):
            owner, key = self.data(target.value), self.data(target.slice)
            self.call(target, self.budget.keys, (key,))
            current = self.require_data(self.call(target, operator.getitem, (owner, key)))
            self._set_item(target, owner, key, self._changed(node, current))
        else:
            owner = self.data(target.value)
            current = self.require_data(self.attribute_of(target, owner))
            self._set_attribute(target, owner, self._changed(node, current))

    def _changed(self, node: ast.AugAssign, current: Any) -> Any:
        added = self.data(node.value)
        return self.require_data(self.operate(node, type(node.op), current, added, in_place=True))

    def delete(self, target: ast.expr) -> None:
        """Delete a name, a part of data, or several of them."""
        if isinstance(target, ast.Name):
            if self.scope.names.pop(target.id, MISSING) is MISSING:
                raise self.refuse(target, f"the name {target.id!r} is not defined", broken=True)
        elif isinstance(target, ast.Subscript):
            owner, key = self.data(target.value), self.data(target.slice)
            self.call(target, self.budget.keys, (key,))
            self.call(target, operator.delitem, (owner, key), changes=True)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.delete(part)
        else:
            raise self.refuse(target, f"del {ast.unparse(target)}", final=True)
