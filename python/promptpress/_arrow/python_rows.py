"""Rows and columns of Python's own values as tables, typed as Arrow types them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress._arrow.changed_values import changed, nested_too_deeply
from promptpress._errors.errors import render_error


@dataclass(frozen=True)
class AsTexts:
    """A column whose values are texts of JSON where Arrow has no type for them, or would change them.

    Args:
        column: The column.
        is_held: Returns true if an array surely has the values that it was made of.
        write: Writes values; returns None if they can't be written.

    """

    column: str
    is_held: Callable[[Any], bool]
    write: Callable[[Sequence[Any]], list[str | None] | None]

    def texts(self, name: str, values: Sequence[Any], array: Any) -> list[str | None] | None:
        """Return the texts of a column; None if it is another, has an array that holds it, or can't be written.

        Args:
            name: The column's name.
            values: Its values.
            array: The array that Arrow makes of them; None if it makes none.

        """
        is_held = name != self.column or (array is not None and self.is_held(array))
        return None if is_held else self.write(values)


def rows_table(rows: Sequence[Mapping[Any, Any]], first: int = 0, as_texts: AsTexts | None = None) -> pa.Table:
    """Make a table of dicts, one a row.

    Args:
        rows: The rows. A key that a row lacks is null there; columns stand in the order in which they first occur.
        first: The number of the first row in messages.
        as_texts: Writes columns that Arrow has no type for, or changes.

    Returns:
        The table.

    Raises:
        RenderError: If a column has values of different kinds, or one that Arrow has no type for.

    >>> rows_table([{"q": "1+1=?"}, {"q": "2+2=?", "n": 4}]).to_pydict()
    {'q': ['1+1=?', '2+2=?'], 'n': [None, 4]}

    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [_array(_name(name), [row.get(name) for row in rows], first, as_texts) for name in names]
    return pa.Table.from_arrays(columns, names=names) if names else pa.table({})


def columns_table(columns: Mapping[Any, Any], as_texts: AsTexts | None = None) -> pa.Table:
    """Make a table of columns by their names.

    Args:
        columns: Lists, arrays of NumPy or arrays of pyarrow.
        as_texts: As in `rows_table`.

    Returns:
        The table.

    Raises:
        RenderError: As `rows_table`; and if columns differ in length.

    >>> columns_table({"q": ["1+1=?"], "n": [4]}).num_rows
    1

    """
    arrays = {_name(name): _array(name, values, as_texts=as_texts) for name, values in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    first, *others = lengths
    for name in others:
        if lengths[name] != lengths[first]:
            message = f"it has {lengths[name]} values, and the column {first!r} has {lengths[first]}"
            raise render_error("malformed_array", message, column=name)
    return pa.table(arrays)


def _name(name: Any) -> str:
    if not isinstance(name, str):
        message = f"a column's name is a string; found {name!r}, a {type(name).__name__}"
        raise render_error("invalid_column_name", message)
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise render_error("invalid_column_name", f"a column's name holds half of a surrogate pair: {name!r}")
    return name


def _array(name: str, values: Any, first: int = 0, as_texts: AsTexts | None = None) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if nested_too_deeply(values):
        message = "a value is nested more than 128 deep, or holds itself; flatten it"
        raise render_error("unconvertible_value", message, column=name)
    try:
        array = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if as_texts is not None and (texts := as_texts.texts(name, values, None)) is not None:
            return pa.array(texts, pa.string())
        _refuse_kinds(name, values, first)
        why = str(error).splitlines()[0]
        raise render_error("unconvertible_value", f"Arrow has no type for its values: {why}", column=name) from error
    if as_texts is not None and (texts := as_texts.texts(name, values, array)) is not None:
        return pa.array(texts, pa.string())
    if (change := changed(values, array.type)) is not None:
        row, value, kind, first_row, first_kind = change
        message = f"{_excerpt(value)} is {kind}, but row {first + first_row} has {first_kind}: one kind a column"
        raise render_error("unconvertible_value", message, first + row, name)
    return array


def _refuse_kinds(name: str, values: Iterable[Any], start: int) -> None:
    """Find the row whose value is of another kind than those before, or is one that nothing takes."""
    first: tuple[int, str] | None = None
    for row, value in enumerate(values, start):
        if value is None:
            continue
        try:
            pa.array([value])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            message = f"{_excerpt(value)}: {str(error).splitlines()[0]}"
            raise render_error("unconvertible_value", message, row, name) from error
        kind = _kind(value)
        first = first or (row, kind)
        if kind != first[1]:
            message = f"{_excerpt(value)} is {kind}, but row {first[0]} has {first[1]}: one kind a column"
            raise render_error("unconvertible_value", message, row, name)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "a dict"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"


def _excerpt(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
