"""Labels of ppl; those that are the values of a column, where only Python tells their order and their texts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress import _core, _text
from promptpress._errors import render_error
from promptpress._settings import plain

__all__ = ["are_plain", "column_labels", "label_or_text", "labels_of"]


class _Shown:
    """A label that is no string, number or None, by its text: the core shows what `repr` says of it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def are_plain(data_type: pa.DataType) -> bool:
    """Whether the core reads and orders the values of `data_type` as Python does.

    Args:
        data_type: The type of a column.

    Returns:
        True for strings, numbers and truth values, also behind a dictionary; and for lists and dicts, which are no
        labels and which the core refuses.

    >>> are_plain(pa.dictionary(pa.int8(), pa.string())), are_plain(pa.date32())
    (True, False)

    """
    if types.is_dictionary(data_type):
        return are_plain(data_type.value_type)
    if isinstance(data_type, pa.BaseExtensionType) or types.is_run_end_encoded(data_type):
        return False
    return bool(
        types.is_string(data_type)
        or types.is_large_string(data_type)
        or data_type == pa.string_view()
        or types.is_integer(data_type)
        or types.is_floating(data_type)
        or types.is_boolean(data_type)
        or types.is_null(data_type)
        or (types.is_nested(data_type) and _text.is_native(data_type))
    )


def labels_of(core: _core.CompiledRenderer, table: pa.Table, core_table: pa.Table) -> list[Any] | None:
    """List the labels that each sample is rendered with.

    Args:
        core: The configuration, compiled.
        table: All samples.
        core_table: The same as the core takes them.

    Returns:
        Those that the configuration says, or the values of the column that it names; None for gen.

    Raises:
        RenderError: If there is no such column, or its values are no labels.

    """
    name = core.label_column
    if name is None:
        return core.labels
    if name not in table.column_names or are_plain(table.schema.field(name).type):
        return core.labels_of(core_table)
    return column_labels(table.column(name), name)


def column_labels(column: pa.ChunkedArray, name: str) -> list[Any]:
    """List the distinct values of a column, in the order in which Python sorts them.

    Args:
        column: A column of any type.
        name: Its name, for errors.

    Returns:
        None first, where it is among them, then the others: strings, numbers and truth values as they are, anything
        else by its text. Values that have no order among each other are ordered by type and text.

    Raises:
        RenderError: If a value can't be converted, or is no label since Python has no hash of it.

    >>> column_labels(pa.chunked_array([pa.array([30, None, 4], pa.duration("s"))]), "a")
    [None, 0:00:04, 0:00:30]

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
    return [value if isinstance(value, (str, int, float, type(None))) else _Shown(str(value)) for value in ordered]


def _distinct(column: pa.ChunkedArray, name: str) -> list[Any]:
    """List values among which all distinct ones are: Arrow leaves out most of the others, where it can."""
    if not _is_fixed(column.type):
        return _text.values(column, name)
    try:
        for chunk in column.chunks:
            chunk.validate(full=True)
        few = pa.chunked_array([pc.unique(column)])
        return _text.values(few, name)
    except (pa.ArrowException, ValueError):
        # A value that can't be converted, whose row is known here.
        return _text.values(column, name)


def _is_fixed(data_type: pa.DataType) -> bool:
    """Whether Arrow finds the distinct values of a type. Of views it loses nulls, and others it doesn't know."""
    return bool(types.is_temporal(data_type) or types.is_decimal(data_type) or types.is_binary(data_type))


def label_or_text(label: Any) -> Any:
    """Turn what names a label into what the core finds it by.

    Args:
        label: A label: one of a configuration, a value of the label column, or of the column that labels are taken
            from.

    Returns:
        A string, number, truth value or None as Python's own, anything else as its text.

    Raises:
        TemplateError: If it is a text that is no Unicode.

    >>> import datetime
    >>> label_or_text(datetime.timedelta(seconds=30)), label_or_text(True)
    ('0:00:30', True)

    """
    # A tuple of names, such as an interval, is no list here.
    value = str(label) if isinstance(label, (tuple, list, dict)) else plain(label, "label")
    if value is None or isinstance(value, (str, int, float)):
        return value
    return repr(value) if isinstance(value, (bytes, bytearray)) else str(value)
