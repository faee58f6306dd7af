"""A field of all documents: one value for all; texts, lists of texts or numbers in Arrow; or Python's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import types

__all__ = ["Column", "Constant", "Lists", "Numbers", "Texts", "column_of", "values"]


@dataclass(frozen=True)
class Constant:
    """The same value for all documents."""

    value: Any
    length: int


@dataclass(frozen=True)
class Texts:
    """A text for each document, none of them null."""

    array: pa.ChunkedArray


@dataclass(frozen=True)
class Lists:
    """A list of texts for each document; neither a list nor a text is null."""

    array: pa.ChunkedArray


@dataclass(frozen=True)
class Numbers:
    """An integer (int64) for each document, none of them null."""

    array: pa.ChunkedArray


Column: TypeAlias = Constant | Texts | Lists | Numbers | list[Any]


def values(column: Column) -> list[Any]:
    """Return a column's values, one a document.

    >>> values(Constant(2, 3))
    [2, 2, 2]

    """
    if isinstance(column, Constant):
        return [column.value] * column.length
    if isinstance(column, list):
        return column
    return column.array.to_pylist()  # type: ignore[no-any-return]


def column_of(array: pa.ChunkedArray) -> Column:
    """Return a table's column; in Arrow where the values are all of the kind that is put together there.

    >>> column_of(pa.chunked_array([["a", None]])), column_of(pa.chunked_array([["a"]])).array.type
    (['a', None], DataType(large_string))

    """
    if not array.null_count:
        if _is_text(array.type):
            return Texts(array.cast(pa.large_string()))
        if types.is_integer(array.type) and array.type != pa.uint64():
            return Numbers(array.cast(pa.int64()))
        if types.is_list(array.type) and _is_text(array.type.value_type):
            lists = array.cast(pa.large_list(pa.large_string()))
            if not any(chunk.flatten().null_count for chunk in lists.chunks):
                return Lists(lists)
    return array.to_pylist()  # type: ignore[no-any-return]


def _is_text(data_type: pa.DataType) -> bool:
    return bool(types.is_string(data_type) or types.is_large_string(data_type))
