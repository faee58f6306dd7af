"""Renderers as functions of a DuckDB connection."""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa

from promptpress_workbench.adapters.columns import (
    AnyRenderer,
    column_names_for,
    output_schema,
    rendered_columns,
    renderer_of,
)


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
    """Render the rows of a call's arguments."""
    if len(arguments) == 1 and pa.types.is_struct(arguments[0].type):
        rows = arguments[0]
        names = [rows.type.field(number).name for number in range(rows.type.num_fields)]
        return rendered_columns(renderer, rows.flatten(), names)
    return rendered_columns(renderer, arguments, column_names_for(renderer, len(arguments)))
