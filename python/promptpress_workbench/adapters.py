"""Renderers as functions of other packages' tables: expressions of Polars, functions of DuckDB, maps of datasets."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from promptpress import Renderer
from promptpress.engine.errors import template_error

if TYPE_CHECKING:
    from promptpress import ChatTemplate

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
            from promptpress import ChatTemplate  # noqa: PLC0415 - needs Jinja2

            return self.render(ChatTemplate(template, **arguments))
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


def register(connection: Any, name: str, renderer: AnyRenderer, /) -> None:
    """Make a renderer a scalar function of a DuckDB connection.

    In SQL the function takes a row, which is the name of a table or any struct. Or it takes the columns that the
    templates read, in the order of `required_columns`. The function of a `ChatTemplate` takes conversations: lists of
    structs, or JSON.

    Args:
        connection: A connection of DuckDB.
        name: The function's name in SQL.
        renderer: A `Renderer`, a `JinjaTemplate` or a `ChatTemplate`; or a template, of which a `Renderer` is made.

    Raises:
        ImportError: If DuckDB isn't installed.
        TemplateError: As `Renderer`; if the samples decide which labels there are.
        TypeError: If `connection` has no functions, or `renderer` is something else.

    >>> from promptpress import duckdb
    >>> duckdb.register(connection, "prompt", "Q: {question}")  # doctest: +SKIP
    >>> connection.sql("SELECT id, prompt(samples) FROM samples")  # doctest: +SKIP
    """
    if not hasattr(connection, "create_function"):
        raise TypeError(f"expected a connection of DuckDB, found a {type(connection).__name__}")
    try:
        duckdb: Any = importlib.import_module("duckdb")
    except ModuleNotFoundError as error:
        raise ImportError('DuckDB isn\'t installed: pip install "promptpress[duckdb]"', name="duckdb") from error
    renderer = renderer_of(renderer, {})
    schema = output_schema(renderer)
    with duckdb.connect() as types:
        columns = [(field.name, types.from_arrow(pa.table([[]], pa.schema([field]))).types[0]) for field in schema]
        result = columns[0][1] if len(columns) == 1 else types.struct_type(dict(columns))

    def rendered(*arguments: Any) -> Any:
        table = _rendered(renderer, arguments)
        if table.num_columns == 1:
            return table.column(0)
        return pa.chunked_array(table.to_struct_array())

    connection.create_function(name, rendered, None, result, type="arrow", null_handling="special")


def _rendered(renderer: AnyRenderer, arguments: tuple[Any, ...]) -> pa.Table:
    if len(arguments) == 1 and pa.types.is_struct(arguments[0].type):
        rows = arguments[0]
        names = [rows.type.field(number).name for number in range(rows.type.num_fields)]
        return rendered_columns(renderer, rows.flatten(), names)
    return rendered_columns(renderer, arguments, column_names_for(renderer, len(arguments)))


def render(
    dataset: Any, renderer: AnyRenderer, /, *, remove_columns: str | list[str] | None = None, **arguments: Any
) -> Any:
    """Add the prompts to a Hugging Face dataset: `dataset.map(renderer, batched=True)`, with batches that are Arrow's.

    `map` takes a renderer as it is, and gives it the lists of Python that it makes of each batch. Here batches stay
    tables, which takes a fraction of the time. The result is kept in the cache as that of any other function, by what
    the renderer is made of.

    Args:
        dataset: A `Dataset`, a `DatasetDict`, or one of those that stream.
        renderer: A `Renderer`, a `JinjaTemplate` or a `ChatTemplate`; or a template, of which a `Renderer` is made.
        remove_columns: Columns that are removed once all prompts are there.
        arguments: Others of `map`: `batch_size`, `num_proc` and so on.

    Returns:
        The dataset with the output columns, and without a format.

    Raises:
        TypeError: If `dataset` is no dataset, or `renderer` is something else.
        TemplateError: As `Renderer`; if the configuration depends on more than a batch.
        RenderError: If a row can't be rendered.

    >>> from promptpress import datasets
    >>> datasets.render(dataset, "Q: {question}")  # doctest: +SKIP
    Dataset({
        features: ['question', 'prompt'],
        num_rows: 2
    })
    """
    if not (hasattr(dataset, "with_format") and hasattr(dataset, "map")):
        raise TypeError(f"expected a Hugging Face dataset, found a {type(dataset).__name__}")
    function = renderer_of(renderer, {})
    rendered = dataset.with_format("arrow").map(function, batched=True, **arguments).with_format(None)
    return rendered if remove_columns is None else rendered.remove_columns(remove_columns)
