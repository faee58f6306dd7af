"""Jinja2 as the reference: it renders the rows that no program renders, and some others to compare with programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

from promptpress._errors.errors import render_error, template_error
from promptpress._jinja.loop_memory import MEMORY, remember_loops
from promptpress._jinja.sandbox.bounded import BoundedEnvironment
from promptpress._jinja.sandbox.bounds import BUDGET, COMPILE_STEPS, LimitExceededError
from promptpress._jinja.sandbox.environments import environment
from promptpress._jinja.traced_environment import template_of, traced_template
from promptpress._jinja.traced_values import pieces

if TYPE_CHECKING:
    from jinja2 import Template

    from promptpress._core import TemplateError
    from promptpress._jinja.traced_values import Piece

MAX_EXPRESSION_DEPTH = 100
"""Jinja2's optimizer visits a part again for each expression around it: at a depth of 300 it takes half a minute."""


def _refuse_deep_expressions(tree: nodes.Template) -> None:
    """Refuse expressions nested so deep that Jinja2 would take very long to generate code."""
    todo: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        depth = depth + 1 if isinstance(node, nodes.Expr) else 0
        if depth > MAX_EXPRESSION_DEPTH:
            message = f"an expression's parts lie within each other more than {MAX_EXPRESSION_DEPTH} deep"
            raise LimitExceededError(message)
        todo.extend((child, depth) for child in node.iter_child_nodes())


class Reference:
    """A template in an engine's environment: sandboxed, and limited in time and memory.

    The arguments are those of `environment`, and values that stand among what it has of its own.
    """

    __slots__ = ("_code", "_remembering", "_template", "_traced", "_tree", "environment", "source", "undeclared")

    def __init__(
        self,
        source: str,
        environment_name: str = "jinja2",
        now: datetime | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        is_marked: bool = False,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.environment: BoundedEnvironment = environment(environment_name, now, options, is_marked=is_marked)
        self.environment.globals.update(constants or {})
        self._tree: nodes.Template | None = None
        self._traced: Template | None = None
        self._remembering: list[Template | None] = []
        BUDGET.start(steps=COMPILE_STEPS)
        try:
            tree = self.environment.parse(source)
            _refuse_deep_expressions(tree)
            self._code = self.environment.compile(tree)
            self._template = template_of(self.environment, self._code)
        except Exception as error:
            refusal = self.environment.refusal(source, error)
            raise _uncompilable(refusal) from refusal
        self.undeclared = frozenset(self.environment.undeclared)
        """The names that the template reads without assigning them, and that the environment doesn't have."""

    def ast(self) -> nodes.Template:
        """Return the tree of the template; each call returns the same tree."""
        if self._tree is None:
            # Parsed again, because generating code changes a tree; most templates of few rows never need it.
            self._tree = self.environment.parse(self.source)
        return self._tree

    @property
    def remembering(self) -> Template | None:
        """A template whose values have origins, and whose loops use the memory that it is given; None if none can."""
        if not self._remembering:
            self._remembering.append(None)
            BUDGET.start(steps=COMPILE_STEPS)
            tree = self.environment.parse(self.source)
            if MEMORY not in self.source and remember_loops(tree):
                self._remembering[0] = traced_template(self.environment, self.environment.compile(tree))
        return self._remembering[0]

    def render(self, names: Mapping[str, Any]) -> str:
        """Render one row."""
        BUDGET.start(names)
        template, environment = self._template, self.environment
        try:
            if "self" in names:
                return template.render(**names)  # raises
            # As `Template.render`, which makes each context out of layers of dicts.
            context = environment.context_class(environment, {**template.globals, **names}, None, template.blocks)
            return environment.concat(template.root_render_func(context))
        except LimitExceededError as error:
            raise render_error("template_limit", str(error)) from None

    def parts(self, names: Mapping[str, Any]) -> list[Piece]:
        """Render one row; return the parts of its text with their origins, which data among the values bring."""
        if self._traced is None:
            self._traced = traced_template(self.environment, self._code)
        BUDGET.start(names)
        try:
            return pieces(self._traced.render(**names))
        except LimitExceededError as error:
            raise render_error("template_limit", str(error)) from None


def _uncompilable(error: Exception) -> TemplateError:
    if isinstance(error, LimitExceededError):
        return template_error("template_limit", "source", str(error))
    line = f"line {error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
    text = error.message if isinstance(error, TemplateSyntaxError) else str(error)
    return template_error("template_syntax", "source", f"{line}{type(error).__name__}: {text}")
