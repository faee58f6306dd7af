"""Choices that a template lists, taken from columns if printing them and reading the text changes nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from jinja2 import nodes
from promptpress.engine import core as _core
from promptpress.engine.tables import is_text
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_harness.lm_eval.columns import Lists, column_of


def listed_choices(template: nodes.Template, table: pa.Table) -> Lists | None:
    """Return the choices of a template such as `{{ choices }}` or `{{ [first, others[0], 'none'] }}`.

    The harness prints such a list and reads the printed text as Python source. The result equals the list only for
    texts without nulls; for other lists, return None.
    """
    if len(template.body) != 1 or not isinstance(template.body[0], nodes.Output) or len(template.body[0].nodes) != 1:
        return None
    # A column named `self` is an error for every template.
    if "self" in table.column_names or not len(table):
        return None
    (node,) = template.body[0].nodes
    try:
        if isinstance(node, nodes.List):
            return _interleaved([_texts(item, table) for item in node.items], len(table))
        column = column_of(pa.chunked_array([_values(node, table)]))
    except (_NeedsRenderingError, pa.ArrowException):
        return None
    return column if isinstance(column, Lists) else None


class _NeedsRenderingError(Exception):
    """Raised if only rendering gives an expression's value."""


def _texts(node: nodes.Expr, table: pa.Table) -> pa.Array:
    if isinstance(node, nodes.Const):
        if not isinstance(node.value, str):
            raise _NeedsRenderingError
        return pa.repeat(pa.scalar(node.value, pa.large_string()), len(table))
    values = _values(node, table)
    if values.null_count or not is_text(values.type):
        raise _NeedsRenderingError
    return values.cast(pa.large_string())


def _values(node: nodes.Expr, table: pa.Table) -> pa.Array:
    """Return the values of a column, or of a field or an item in it."""
    if isinstance(node, nodes.Name) and node.name in table.column_names:
        return table.column(node.name).combine_chunks()
    if not isinstance(node, (nodes.Getattr, nodes.Getitem)):
        raise _NeedsRenderingError
    values = _values(node.node, table)
    if values.null_count:
        raise _NeedsRenderingError
    key: Any = node.attr if isinstance(node, nodes.Getattr) else node.arg
    if isinstance(key, nodes.Const):
        key = key.value
    if type(key) is int and key >= 0 and types.is_list(values.type):
        return pc.list_element(values, key)  # raises if an item is missing
    # After a dot, a dict's methods come before its keys.
    is_method = isinstance(node, nodes.Getattr) and hasattr(dict, key)
    if type(key) is str and types.is_struct(values.type) and not is_method:
        names = [field.name for field in values.type]
        if names.count(key) == 1:
            return values.flatten()[names.index(key)]
    raise _NeedsRenderingError


def _interleaved(columns: list[pa.Array], rows: int) -> Lists | None:
    """Return a list of the texts of each row."""
    width = len(columns)
    if not width:
        return None
    row = _core.repeated_rows(0, rows, width)
    column = pc.subtract(_core.repeated_rows(0, rows * width, 1), pc.multiply(row, width))
    texts = pa.chunked_array(columns).take(pc.add(pc.multiply(column, rows), row)).combine_chunks()
    offsets = pc.multiply(_core.repeated_rows(0, rows + 1, 1), width)
    return Lists(pa.chunked_array([pa.LargeListArray.from_arrays(offsets, texts)]))
