"""The namespace `promptpress` of Polars' expressions."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress_workbench.adapters.columns import (
    AnyRenderer,
    column_names_for,
    output_schema,
    rendered_columns,
    renderer_of,
)

if TYPE_CHECKING:
    from promptpress import ChatTemplate

NAMESPACE = "promptpress"


class PromptExpressions:
    """The methods of `expression.promptpress`. Expressions stay lazy; the streaming engine runs them batch by batch.

    Args:
        expression: A Polars expression.

    >>> import polars as pl  # doctest: +SKIP
    >>> import promptpress.polars  # doctest: +SKIP
    >>> frame.with_columns(prompt=pl.struct(pl.all()).promptpress.render("Q: {question}"))  # doctest: +SKIP

    """

    __slots__ = ("_expression",)

    def __init__(self, expression: Any, /) -> None:
        self._expression = expression

    def chat(self, template: ChatTemplate | str, /, **arguments: Any) -> Any:
        """Render a column of conversations by a chat template.

        Args:
            template: A `ChatTemplate`, or the text of one.
            arguments: Those of `ChatTemplate`, for a text: `bos_token`, `add_generation_prompt` and so on.

        Returns:
            An expression of texts, with the name of this one.

        Raises:
            TemplateError: As `ChatTemplate`.
            ImportError: If Jinja2 or Polars isn't installed.
            TypeError: If `template` is something else, or arguments come with a `ChatTemplate`.

        >>> frame.with_columns(prompt=pl.col("messages").promptpress.chat(template))  # doctest: +SKIP

        """
        if isinstance(template, str):
            from promptpress.engine.templates import template_class  # noqa: PLC0415 - needs Jinja2

            return self.render(template_class("ChatTemplate")(template, **arguments))
        return self.render(template, **arguments)

    def render(self, renderer: AnyRenderer, /, **arguments: Any) -> Any:
        """Render rows, a prompt each.

        Args:
            renderer: A `Renderer`, a `JinjaTemplate` or a `ChatTemplate`; or a template, of which a `Renderer` is made.
            arguments: Those of `Renderer`, for a template.

        Returns:
            An expression of prompts, with the name of this one; of structs if there are more output columns than one.
                This expression has to be a struct of the columns that the templates read, or the only such column.

        Raises:
            ImportError: If Polars isn't installed.
            TemplateError: As `Renderer`; if the samples decide which labels there are.
            TypeError: If `renderer` is something else.

        >>> frame.with_columns(prompt=pl.struct("question", "answer").promptpress.render(renderer))  # doctest: +SKIP

        """
        try:
            polars: Any = importlib.import_module("polars")
        except ModuleNotFoundError as error:
            raise ImportError('Polars isn\'t installed: pip install "promptpress[polars]"', name="polars") from error
        renderer = renderer_of(renderer, arguments)
        types = polars.from_arrow(output_schema(renderer).empty_table()).schema
        data_type = next(iter(types.values())) if len(types) == 1 else polars.Struct(types)
        return self._expression.map_batches(_Function(renderer), return_dtype=data_type, is_elementwise=True)


class _Function:
    """Renders a series. It can be pickled, and so can the query that holds it."""

    __slots__ = ("renderer",)

    def __init__(self, renderer: AnyRenderer) -> None:
        self.renderer = renderer

    def __call__(self, series: Any) -> Any:
        """Return the series of the prompts."""
        polars: Any = importlib.import_module("polars")
        if series.dtype == polars.Struct:
            frame = series.struct.unnest()
        else:
            frame = series.to_frame(*column_names_for(self.renderer, 1))
        table = pa.table(frame)
        rendered = polars.from_arrow(rendered_columns(self.renderer, table.columns, table.column_names))
        out = rendered.to_series(0) if rendered.width == 1 else rendered.to_struct()
        return out.alias(series.name)


def register_namespace() -> None:
    """Give Polars' expressions the namespace, if Polars is installed."""
    if importlib.util.find_spec("polars") is None:
        return
    polars: Any = importlib.import_module("polars")
    if getattr(polars.Expr, NAMESPACE, None) is None:
        polars.api.register_expr_namespace(NAMESPACE)(PromptExpressions)
