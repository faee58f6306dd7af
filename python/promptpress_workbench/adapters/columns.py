"""Columns as a renderer's samples, and its output columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from promptpress import Renderer
from promptpress.engine.errors import template_error

AnyRenderer = Any
"""A `Renderer`, a `JinjaTemplate` or a `ChatTemplate`; naming the latter two would import Jinja2."""

_METHODS = ("output_schema", "required_columns", "render")


def renderer_of(renderer: Any, arguments: dict[str, Any]) -> AnyRenderer:
    """Return a renderer, made of a text and arguments if it isn't one."""
    if isinstance(renderer, (str, dict)):
        return Renderer(renderer, **arguments)
    if not all(hasattr(renderer, name) for name in _METHODS):
        message = f"expected a Renderer, a JinjaTemplate, a ChatTemplate or a text, found a {type(renderer).__name__}"
        raise TypeError(message)
    if arguments:
        raise TypeError(f"{', '.join(arguments)}: a {type(renderer).__name__} has its arguments already")
    return renderer


def column_names_for(renderer: AnyRenderer, count: int) -> list[str]:
    """Return the names of columns that come without names, in their order."""
    names: list[str] = list(renderer.required_columns)
    if len(names) != count:
        read = ", ".join(map(repr, names)) or "no column"
        message = (
            f"expected a column for each that the templates read ({read}), found {count}; "
            "a row, which is a struct with names, can have more"
        )
        raise template_error("unsupported_mode", "columns", message)
    return names


def output_schema(renderer: AnyRenderer) -> pa.Schema:
    """Return the output columns of a renderer; their types don't depend on the samples."""
    samples = pa.schema([(name, pa.string()) for name in renderer.required_columns])
    schema: pa.Schema = renderer.output_schema(samples, list(samples.names)).remove_metadata()
    return pa.schema([schema.field(number) for number in range(len(samples), len(schema))])


def rendered_columns(renderer: AnyRenderer, columns: Sequence[Any], names: list[str]) -> pa.Table:
    """Render samples, a row each, and return the output columns alone."""
    samples = pa.table(list(columns), names)
    if not samples.num_rows:
        return output_schema(renderer).empty_table()
    rendered: pa.Table = renderer(samples)
    if rendered.num_rows != samples.num_rows:
        message = "it makes several rows of one, which no function of columns can; use render or stream"
        raise template_error("unsupported_mode", "mode", message)
    return rendered.select(range(samples.num_columns, rendered.num_columns))
