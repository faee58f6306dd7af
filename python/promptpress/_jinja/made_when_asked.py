"""Filters and tests with something put before each: a template uses few of the ninety that there are."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Mapping, ValuesView
from typing import Any

__all__ = ["MadeWhenAsked"]

_Function = Callable[..., Any]


class MadeWhenAsked(dict[str, Any]):
    """Functions by name, each made of another when it is first asked for.

    Args:
        functions: What they are made of; not to be changed.
        make: Makes one, of its name and the other.

    >>> filters = MadeWhenAsked({"upper": str.upper}, lambda name, function: lambda text: function(text) + name)
    >>> filters["upper"]("a"), filters["upper"] is filters.get("upper"), "lower" in filters
    ('Aupper', True, False)

    """

    def __init__(self, functions: Mapping[str, _Function], make: Callable[[str, _Function], _Function]) -> None:
        # Who reads a dict past its methods finds nothing that could be called by mistake.
        super().__init__(dict.fromkeys(functions))
        self._functions = functions
        self._make = make

    def __getitem__(self, name: str) -> _Function:
        found: _Function | None = super().__getitem__(name)
        if found is None:
            # Two threads may make it twice, and either is as good.
            self[name] = found = self._make(name, self._functions[name])
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - it is what stands there

    def copy(self) -> dict[str, _Function]:
        return {name: self[name] for name in self}

    def values(self) -> ValuesView[_Function]:  # type: ignore[override]  # dict's own type of a view can't be made
        return self.copy().values()

    def items(self) -> ItemsView[str, _Function]:  # type: ignore[override]
        return self.copy().items()
