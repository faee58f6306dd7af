"""Protocols of the evaluators of expressions and statements, for functions, filters, tests and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from jinja2 import nodes
from jinja2.compiler import Frame

from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.scope import Scope


class Evaluator(Protocol):
    """The part of `Expressions` that calls, filters and tests use."""

    context: Any
    environment: Any
    machine: Machine
    scope: Scope

    def arguments(self, node: Any, frame: Frame) -> tuple[list[Any], dict[str, Any]]: ...
    def attribute(self, value: Any, name: str) -> Any: ...
    def compare(self, operator: str, left: Any, right: Any) -> Any: ...
    def evaluate(self, node: nodes.Node, frame: Frame) -> Any: ...
    def item(self, value: Any, key: Any) -> Any: ...


class Executor(Protocol):
    """The part of `Statements` that loops use."""

    environment: Any
    machine: Machine
    scope: Scope

    @property
    def expressions(self) -> Evaluator: ...
    def body(self, body: Iterable[nodes.Node], frame: Frame, rest: Callable[[], None] | None = None) -> None: ...
    def store(self, target: Any, value: Any, frame: Frame) -> None: ...
