"""A template as Jinja2 itself renders it: what the programs are measured by, and what renders where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined
from jinja2.exceptions import TemplateSyntaxError

from promptpress._errors import render_error, template_error
from promptpress._jinja.bounds import BUDGET, COMPILE_STEPS, LimitExceededError
from promptpress._jinja.environments import environment
from promptpress._jinja.survey import Survey, refuse_deep_expressions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from jinja2 import Template, nodes

    from promptpress._core import TemplateError
    from promptpress._jinja.bounded import BoundedEnvironment

__all__ = ["Reference"]


class Reference:
    """A template in an engine's environment: sandboxed, and bounded in time and memory.

    Jinja2's code for it is generated with the first row that it renders, unless that might fail.

    Args:
        source: The template.
        environment_name: One of `ENVIRONMENTS`.
        now: The clock of `strftime_now`; None: the time of this call.

    Raises:
        TemplateError: If there is no such environment, or Jinja2 can't compile the template.

    >>> Reference("{{ x.strip() }}!", "jinja2").render({"x": " a "})
    'a!'
    >>> Reference("{% if %}", "jinja2")
    Traceback (most recent call last):
    promptpress.TemplateError: source: line 1: TemplateSyntaxError: Expected an expression, got 'end of statement block'

    """

    __slots__ = ("_compiled", "_tree", "environment", "names_read", "source")

    def __init__(self, source: str, environment_name: str = "jinja2", now: datetime | None = None) -> None:
        self.source = source
        self.environment: BoundedEnvironment = environment(environment_name, now)
        self._compiled: Template | None = None
        BUDGET.start(steps=COMPILE_STEPS)
        try:
            self._tree: nodes.Template = self.environment.parse(source)
            is_strict = self.environment.undefined is StrictUndefined
            survey = Survey(self._tree, self.environment.filters, self.environment.tests, is_strict=is_strict)
            if not survey.is_certain:
                refuse_deep_expressions(self._tree)
                self._compiled = self.environment.from_string(source)
        except Exception as error:
            said = self.environment.refusal(source, error)
            raise _uncompilable(said) from said
        self.names_read = frozenset(survey.names) if survey.is_certain and not survey.binds else None
        """All names that the template reads, where it gives none a value; None: Jinja2 has to find out."""

    def ast(self) -> nodes.Template:
        """Return the tree that Jinja2 parses the template to; the same one at each call."""
        return self._tree

    def _code(self) -> Template:
        if self._compiled is None:
            BUDGET.start(steps=COMPILE_STEPS)
            # Of the source: generating code changes the tree that it is generated from.
            self._compiled = self.environment.from_string(self.source)
        return self._compiled

    def render(self, names: Mapping[str, Any]) -> str:
        """Render one row.

        Args:
            names: The variables and their values.

        Returns:
            Its text.

        Raises:
            RenderError: If it takes too long, or makes something too large.
            Exception: What the engine raises.

        """
        code = self._code()
        BUDGET.start(names)
        try:
            return code.render(**names)
        except LimitExceededError as error:
            raise render_error("template_limit", str(error)) from None


def _uncompilable(error: Exception) -> TemplateError:
    if isinstance(error, LimitExceededError):
        return template_error("template_limit", "source", str(error))
    line = f"line {error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
    said = error.message if isinstance(error, TemplateSyntaxError) else str(error)
    return template_error("template_syntax", "source", f"{line}{type(error).__name__}: {said}")
