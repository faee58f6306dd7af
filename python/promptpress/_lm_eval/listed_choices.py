"""Choices that a template lists, taken from columns where printing them and reading that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress import _core
from promptpress._lm_eval.columns import Lists, column_of

if TYPE_CHECKING:
    from jinja2 import nodes

__all__ = ["listed_choices"]


def listed_choices(template: nodes.Template, table: pa.Table) -> Lists | None:
    """Return the choices of a template such as `{{ choices }}` or `{{ [first, others[0], 'none'] }}`.

    The harness prints such a list, and reads what was printed as Python's source. Of lists of texts that are all there
    it is the list itself.

    Args:
        template: The template's syntax tree.
        table: The documents.

    Returns:
        The lists; None where they have to be printed and read.

    >>> import jinja2
    >>> table = pa.table({"a": ["x", "it's"], "b": [["y"], ["z", "?"]]})
    >>> tree = jinja2.Environment().parse("{{ [a, b[0]] }}")
    >>> listed_choices(tree, table).array.to_pylist()
    [['x', 'y'], ["it's", 'z']]

    """
    from jinja2 import nodes  # noqa: PLC0415 - whoever has a tree has imported it

    if len(template.body) != 1 or not isinstance(template.body[0], nodes.Output) or len(template.body[0].nodes) != 1:
        return None
    # A column of this name is an error for every template.
    if "self" in table.column_names or not len(table):
        return None
    (node,) = template.body[0].nodes
    try:
        if isinstance(node, nodes.List):
            return _interleaved([_texts(item, table) for item in node.items], len(table))
        found = column_of(pa.chunked_array([_values(node, table)]))
    except (_OtherwiseError, pa.ArrowException):
        return None
    return found if isinstance(found, Lists) else None


class _OtherwiseError(Exception):
    """Only rendering shows what it is."""


def _texts(node: nodes.Expr, table: pa.Table) -> pa.Array:
    from jinja2 import nodes  # noqa: PLC0415 - likewise

    if isinstance(node, nodes.Const):
        if not isinstance(node.value, str):
            raise _OtherwiseError
        return pa.array([node.value], pa.large_string()).take(pa.array([0] * len(table)))
    values = _values(node, table)
    if values.null_count or not (types.is_string(values.type) or types.is_large_string(values.type)):
        raise _OtherwiseError
    return values.cast(pa.large_string())


def _values(node: nodes.Expr, table: pa.Table) -> pa.Array:
    """Return the values of a column, or of what lies in it."""
    from jinja2 import nodes  # noqa: PLC0415 - likewise

    if isinstance(node, nodes.Name) and node.name in table.column_names:
        return table.column(node.name).combine_chunks()
    if not isinstance(node, (nodes.Getattr, nodes.Getitem)):
        raise _OtherwiseError
    values = _values(node.node, table)
    if values.null_count:
        raise _OtherwiseError
    key: Any = node.attr if isinstance(node, nodes.Getattr) else node.arg
    if isinstance(key, nodes.Const):
        key = key.value
    if type(key) is int and key >= 0 and types.is_list(values.type):
        return pc.list_element(values, key)  # one that is missing is an error
    # By a dot a dict's methods come before its keys.
    is_method = isinstance(node, nodes.Getattr) and hasattr(dict, key)
    if type(key) is str and types.is_struct(values.type) and not is_method:
        names = [field.name for field in values.type]
        if names.count(key) == 1:
            return values.flatten()[names.index(key)]
    raise _OtherwiseError


def _interleaved(columns: list[pa.Array], rows: int) -> Lists | None:
    """Make a list of each row's texts."""
    each = len(columns)
    if not each:
        return None
    row = _core.repeated_rows(0, rows, each)
    place = _core.repeated_rows(0, rows * each, 1)
    column = pc.subtract(place, pc.multiply(row, each))
    texts = pa.chunked_array(columns).take(pc.add(pc.multiply(column, rows), row)).combine_chunks()
    offsets = pc.multiply(_core.repeated_rows(0, rows + 1, 1), each)
    return Lists(pa.chunked_array([pa.LargeListArray.from_arrays(offsets, texts)]))
