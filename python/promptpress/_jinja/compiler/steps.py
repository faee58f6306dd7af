"""Protocols of the machine for the helpers of an evaluation: operations on values of the row, and their budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from promptpress._jinja.compiler.trail import Trail
from promptpress._jinja.compiler.values import Sym, UnsupportedError


class Operations(Protocol):
    """The part of `Operands` that texts and generators use."""

    state: Trail

    def concat(self, parts: list[Any]) -> Any: ...
    def operate(self, name: str, *values: Any) -> Sym: ...
    def real(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any: ...
    def spend(self, steps: int) -> None: ...
    def unsupported(self, what: str) -> UnsupportedError: ...
    def weigh(self, *values: Any) -> None: ...


class Steps(Operations, Protocol):
    """The part of `Forks` that loops and comparisons use."""

    forks: int

    def branch(self, condition: bool | int, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any: ...
    def condition(self, value: Any) -> bool | int: ...
    def lift(self, operation: Callable[..., Any], *values: Any) -> Any: ...
