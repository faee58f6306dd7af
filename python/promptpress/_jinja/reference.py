"""Jinja2 as the reference: it renders the rows that no program renders, and some others to compare with programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined
from jinja2.exceptions import TemplateSyntaxError

from promptpress._errors.errors import render_error, template_error
from promptpress._jinja.sandbox.bounds import BUDGET, COMPILE_STEPS, LimitExceededError
from promptpress._jinja.sandbox.environments import environment
from promptpress._jinja.survey import Survey, refuse_deep_expressions
from promptpress._jinja.traced.environment import traced_template
from promptpress._jinja.traced.values import pieces

if TYPE_CHECKING:
    from jinja2 import Template, nodes

    from promptpress._core import TemplateError
    from promptpress._jinja.sandbox.bounded import BoundedEnvironment
    from promptpress._jinja.traced.values import Piece


class Reference:
    """A template in an engine's environment: sandboxed, and limited in time and memory.

    Jinja2 generates the template's code when it renders the first row, unless generating the code might fail.

    Args:
        source: The template.
        environment_name: One of `ENVIRONMENTS`.
        now: The clock of `strftime_now`; None: the time of this call.
        options: As for `environment`.
        is_marked: As for `environment`.

    Raises:
        TemplateError: If there is no such environment, or Jinja2 can't compile the template.

    >>> Reference("{{ x.strip() }}!", "jinja2").render({"x": " a "})
    'a!'
    >>> Reference("{% if %}", "jinja2")
    Traceback (most recent call last):
    promptpress.TemplateError: source: line 1: TemplateSyntaxError: Expected an expression, got 'end of statement block'
    """

    __slots__ = ("_compiled", "_traced", "_tree", "environment", "names_read", "source")

    def __init__(
        self,
        source: str,
        environment_name: str = "jinja2",
        now: datetime | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        is_marked: bool = False,
    ) -> None:
        self.source = source
        self.environment: BoundedEnvironment = environment(environment_name, now, options, is_marked=is_marked)
        self._compiled: Template | None = None
        self._traced: Template | None = None
        BUDGET.start(steps=COMPILE_STEPS)
        try:
            self._tree: nodes.Template = self.environment.parse(source)
            is_strict = self.environment.undefined is StrictUndefined
            survey = Survey(self._tree, self.environment.filters, self.environment.tests, is_strict=is_strict)
            if not survey.is_certain:
                refuse_deep_expressions(self._tree)
                self._compiled = self.environment.from_string(source)
        except Exception as error:
            refusal = self.environment.refusal(source, error)
            raise _uncompilable(refusal) from refusal
        self.names_read = frozenset(survey.names) if survey.is_certain and not survey.binds else None
        """All names that the template reads, if it assigns to none; None: only Jinja2 can find out."""

    def ast(self) -> nodes.Template:
        """Return the tree of the template; each call returns the same tree."""
        return self._tree

    def _code(self) -> Template:
        if self._compiled is None:
            BUDGET.start(steps=COMPILE_STEPS)
            # From the source, because generating code changes the tree.
            self._compiled = self.environment.from_string(self.source)
        return self._compiled

    def render(self, names: Mapping[str, Any]) -> str:
        """Render one row.

        Raises:
            RenderError: If the row takes too long, or makes something too large.
            Exception: What the engine raises.
        """
        code = self._code()
        BUDGET.start(names)
        try:
            return code.render(**names)
        except LimitExceededError as error:
            raise render_error("template_limit", str(error)) from None

    def parts(self, names: Mapping[str, Any]) -> list[Piece]:
        """Render one row; return the parts of its text with their origins, which data among the values bring.

        Raises:
            Exception: As `render`.
        """
        if self._traced is None:
            BUDGET.start(steps=COMPILE_STEPS)
            self._traced = traced_template(self.environment, self.source)
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
