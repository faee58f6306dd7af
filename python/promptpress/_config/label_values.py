"""Labels of ppl mode that are the values of a column, in Python's order and with Python's texts.

The core orders and prints strings, numbers and truth values itself; values of other types need Python.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import python_text as _text
from promptpress._arrow.types import is_text
from promptpress._config.settings import plain
from promptpress._errors.errors import render_error
from promptpress._utils import lazy_compute as pc


class _LabelText:
    """A label of another type than str, int, float or None; its `repr` is the label's text, which the core uses."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def are_plain(data_type: pa.DataType) -> bool:
    """Return true if the core reads and orders the values of a type as Python does.

    True for strings, numbers and truth values, also in a dictionary array. True also for lists and structs, which the
    core refuses as labels.
    """
    if types.is_dictionary(data_type):
        return are_plain(data_type.value_type)
    if isinstance(data_type, pa.BaseExtensionType) or types.is_run_end_encoded(data_type):
        return False
    return bool(
        is_text(data_type)
        or types.is_integer(data_type)
        or types.is_floating(data_type)
        or types.is_boolean(data_type)
        or types.is_null(data_type)
        or (types.is_nested(data_type) and _text.is_native(data_type))
    )


def labels_of(core: _core.CompiledRenderer, table: pa.Table, core_table: pa.Table) -> list[Any] | None:
    """Return the labels of all samples, from the configuration or the values of a column; None for gen mode."""
    name = core.label_column
    if name is None:
        return core.labels
    if name not in table.column_names or are_plain(table.schema.field(name).type):
        return core.labels_of(core_table)
    return column_labels(table.column(name), name)


def column_labels(column: pa.ChunkedArray, name: str) -> list[Any]:
    """Return the distinct values of a column in Python's order, None first.

    Strings, numbers and truth values stay as they are; others become their texts. Values that Python can't compare are
    ordered by type and text.
    """
    try:
        distinct = set(_distinct(column, name))
    except TypeError as error:
        message = f"its values would be the labels, which can't be of type {column.type}; give labels="
        raise render_error("wrong_column_type", message, column=name) from error
    values = [value for value in distinct if value is not None]
    try:
        values.sort()
    except TypeError:
        values.sort(key=lambda value: (type(value).__name__, str(value)))
    ordered = [None, *values] if len(values) < len(distinct) else values
    return [value if isinstance(value, (str, int, float, type(None))) else _LabelText(str(value)) for value in ordered]


def _distinct(column: pa.ChunkedArray, name: str) -> list[Any]:
    """Return the values of a column, without most duplicates if Arrow can drop them."""
    kind = column.type
    # Of views Arrow loses nulls, and of other types it can't list the distinct values.
    if not (types.is_temporal(kind) or types.is_decimal(kind) or types.is_binary(kind)):
        return _text.values(column, name)
    try:
        for chunk in column.chunks:
            chunk.validate(full=True)
        return _text.values(pa.chunked_array([pc.unique(column)]), name)
    except (pa.ArrowException, ValueError):
        # If a value can't be converted, this raises an error with its row in the whole column.
        return _text.values(column, name)


def label_or_text(label: Any) -> Any:
    """Return the value by which the core finds a label: strings, numbers, truth values and None, or the label's text."""
    # A tuple, such as an interval, is one label and no list of labels.
    value = str(label) if isinstance(label, (tuple, list, dict)) else plain(label, "label")
    if value is None or isinstance(value, (str, int, float)):
        return value
    return repr(value) if isinstance(value, (bytes, bytearray)) else str(value)
