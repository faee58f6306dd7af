"""Renders templates as the harness does, for all rows of a table or for a dict."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from promptpress.engine.core import TemplateError
from promptpress.engine.tables import lazy_compute as pc

if TYPE_CHECKING:
    from jinja2 import nodes
    from promptpress.engine.templates import Reference, Runner

_MAX_TEMPLATES = 256
"""Number of cached templates: a task renders its fields for its first document, for shots and for all documents."""


def constant_text(source: str) -> str | None:
    """Return the text of a template that holds no Jinja, and None for other templates."""
    if "{" in source and re.search(r"\{[{%#]", source):
        return None
    return re.sub("\r\n?", "\n", source)


def render_table(source: str, table: pa.Table) -> pa.ChunkedArray:
    """Render a template for each row of a table, as large_string; errors have the row's number in the table."""
    parts, _ = _runner(source).run(table)
    return pa.chunked_array([texts for texts, _ in parts], pa.large_string())


def render_row(source: str, document: Mapping[str, Any]) -> str:
    """Render a template for a dict, and raise what Jinja2 raises, or TemplateError if it can't compile the template."""
    return _reference(source).render(document)


@lru_cache(_MAX_TEMPLATES)
def syntax_tree(source: str) -> nodes.Template:
    """Return a template's syntax tree, which is shared and must not be changed."""
    return _reference(source).ast()


@lru_cache(_MAX_TEMPLATES)
def _reference(source: str) -> Reference:
    from promptpress.engine.templates import Reference  # noqa: PLC0415 - needs Jinja2, which only templates need

    return Reference(source, "lm_eval")


@lru_cache(_MAX_TEMPLATES)
def _runner(source: str) -> Runner:
    from jinja2.meta import find_undeclared_variables  # noqa: PLC0415 - needs Jinja2
    from promptpress.engine.templates import Runner  # noqa: PLC0415 - needs Jinja2

    reference = _reference(source)
    variables = frozenset(find_undeclared_variables(reference.ast())) | {"self"}
    return Runner(reference, variables, "large_string", refuse=False)


@lru_cache(_MAX_TEMPLATES)
def renderer_of(source: str) -> tuple[Callable[[pa.Table], list[str]] | None, str]:
    """Return a function that renders a template, and the reason if not all of the template is compiled.

    The function raises RenderError for a row that isn't compiled. Such a row isn't rendered here, because Jinja2 may
    draw random numbers for it, in the harness's order. If nothing is compiled, there is no function.

    >>> render, reason = renderer_of("{{ a }}!")
    >>> render(pa.table({"a": [1, 2]})), reason
    (['1!', '2!'], '')
    >>> renderer_of("{{ [1, 2]|random }}")
    (None, 'line 1: `random` is chance')
    """
    from promptpress import JinjaTemplate  # noqa: PLC0415 - needs Jinja2

    try:
        compiled = JinjaTemplate(source, environment="lm_eval").compiled
    except TemplateError as error:
        return None, str(error)
    uncompiled = compiled.filter(pc.invert(compiled["compiled"]))
    if not uncompiled.num_rows:
        return lambda table: render_table(source, table).to_pylist(), ""
    first = uncompiled.slice(0, 1).to_pylist()[0]
    reason = f"line {first['line']}: {first['reason']}"
    try:
        template = JinjaTemplate(source, environment="lm_eval", fallback="refuse")
    except TemplateError:
        return None, reason  # the error's text has advice that the harness's user can't follow
    return lambda table: template.render(table)["prompt"].to_pylist(), reason
