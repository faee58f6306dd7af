"""Templates as the harness renders them, for all rows of a table or for dicts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from jinja2 import nodes

    from promptpress._jinja.reference import Reference
    from promptpress._jinja.run import Runner

__all__ = ["rendered_row", "rendered_table", "syntax_tree"]

_TEMPLATES = 256
"""Templates that are kept: a task's fields are rendered for its first document, for shots and for all documents."""


def rendered_table(source: str, table: pa.Table) -> pa.ChunkedArray:
    """Render a template for each row of a table.

    Args:
        source: The template.
        table: The rows.

    Returns:
        The texts (large_string).

    Raises:
        RenderError: Where Jinja2 raises, with the row of the table.
        TemplateError: If Jinja2 can't compile the template.

    >>> rendered_table("{{ a }}!", pa.table({"a": [1, 2]})).to_pylist()
    ['1!', '2!']

    """
    arrays, _ = _runner(source).run(table)
    return pa.chunked_array(arrays, pa.large_string())


def rendered_row(source: str, document: Mapping[str, Any]) -> str:
    """Render a template for a dict.

    Args:
        source: The template.
        document: The template's variables.

    Returns:
        The text.

    Raises:
        TemplateError: If Jinja2 can't compile the template.
        Exception: What Jinja2 raises.

    >>> rendered_row("{{ a }}!", {"a": (1,)})
    '(1,)!'

    """
    return _reference(source).render(document)


@lru_cache(_TEMPLATES)
def syntax_tree(source: str) -> nodes.Template:
    """Return a template's syntax tree, which nobody may change.

    Raises:
        TemplateError: If Jinja2 can't compile the template.

    """
    return _reference(source).ast()


@lru_cache(_TEMPLATES)
def _reference(source: str) -> Reference:
    from promptpress._jinja.reference import Reference  # noqa: PLC0415 - needs Jinja2, which templates alone need

    return Reference(source, "lm_eval")


@lru_cache(_TEMPLATES)
def _runner(source: str) -> Runner:
    from jinja2.meta import find_undeclared_variables  # noqa: PLC0415 - likewise

    from promptpress._jinja.run import Runner  # noqa: PLC0415 - likewise

    reference = _reference(source)
    return Runner(
        reference, frozenset(find_undeclared_variables(reference.ast())) | {"self"}, "large_string", refuse=False
    )
