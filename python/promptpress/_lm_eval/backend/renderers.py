"""What renders a template for all documents of a table, as the harness's environment does."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa

import promptpress
from promptpress import _compute as pc
from promptpress._lm_eval.rendered import rendered_table

Render = Callable[[pa.Table], list[str]]
_TEMPLATES = 256


@lru_cache(_TEMPLATES)
def renderer_of(source: str) -> tuple[Render | None, str]:
    """What renders a template, and why not all of it is compiled.

    Args:
        source: The template.

    Returns:
        A function, which raises RenderError for a row that isn't rendered, or None; and the reason, or nothing. Of what
        isn't compiled nothing is rendered here: Jinja2 may draw random numbers there, whose order is the harness's.

    Example:
        >>> render, reason = renderer_of("{{ a }}!")
        >>> render(pa.table({"a": [1, 2]})), reason
        (['1!', '2!'], '')
        >>> renderer_of("{{ [1, 2]|random }}")
        (None, 'line 1: `random` is chance')
    """
    try:
        compiled = promptpress.JinjaTemplate(source, environment="lm_eval").compiled
    except promptpress.TemplateError as error:
        return None, str(error)
    whole = compiled.filter(pc.invert(compiled["compiled"]))
    if not whole.num_rows:
        return lambda table: rendered_table(source, table).to_pylist(), ""
    first = whole.slice(0, 1).to_pylist()[0]
    reason = f"line {first['line']}: {first['reason']}"
    try:
        template = promptpress.JinjaTemplate(source, environment="lm_eval", fallback="refuse")
    except promptpress.TemplateError:
        return None, reason  # the error's text has advice that is none to who runs the harness
    return lambda table: template.render(table)["prompt"].to_pylist(), reason
