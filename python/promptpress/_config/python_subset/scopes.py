"""Scopes of names, with CPython's rules."""

from __future__ import annotations

from collections.abc import Collection

MISSING = object()
UNBOUND = object()
"""The value of a comprehension's loop variable before the loop sets it."""


class Scope:
    """The names of a module, a class body or a comprehension.

    Args:
        names: The values so far.
        outer: The enclosing scope; None for a module.
        declared: Loop variables of a comprehension, which hide outer names even before they have a value.
        kind: `"module"`, `"class"` or `"comprehension"`.

    >>> inner = Scope({}, Scope({"a": 1, "b": 2}), {"b"}, "comprehension")
    >>> inner.find("a"), inner.find("b") is UNBOUND
    (1, True)

    """

    def __init__(
        self,
        names: dict[str, object],
        outer: Scope | None = None,
        declared: Collection[str] = (),
        kind: str = "module",
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
