"""Scopes of names, resolved as CPython resolves them."""

from __future__ import annotations

from collections.abc import Collection

MISSING = object()
UNBOUND = object()
"""A loop variable of a comprehension that has no value yet."""


class Scope:
    """Names of a module, a class body or a comprehension.

    Args:
        names: the values that are bound so far.
        outer: the scope around it; None for a module.
        declared: the loop variables of a comprehension, which hide outer names even before they are bound.
        kind: `"module"`, `"class"` or `"comprehension"`.

    Example:
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
        # Code inside a class body doesn't see the names of the class.
        self.outer: Scope | None = outer.outer if outer is not None and outer.kind == "class" else outer
        self.declared = declared
        self.kind: str = kind

    def find(self, name: str) -> object:
        """Return the value of a name.

        Args:
            name: the name.

        Returns:
            Its value, `MISSING` or `UNBOUND`.

        """
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if name in scope.declared:
                return UNBOUND
            scope = scope.outer
        return MISSING

    def binding(self) -> Scope:
        """Return the scope where `:=` binds a name: the nearest one that is no comprehension's.

        Returns:
            The scope.

        """
        scope = self
        while scope.kind == "comprehension" and scope.outer is not None:
            scope = scope.outer
        return scope
