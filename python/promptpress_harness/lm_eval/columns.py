"""The values of one field for all documents: a constant, an Arrow column, or a list of Python values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from promptpress.engine.tables import is_text
from pyarrow import types


@dataclass(frozen=True)
class Constant:
    """The same value for all documents."""

    value: Any
    length: int


@dataclass(frozen=True)
class _ArrowColumn:
    array: pa.ChunkedArray


class Texts(_ArrowColumn):
    """A text (large_string) for each document, without nulls."""


class Lists(_ArrowColumn):
    """A list of texts for each document, without nulls in the lists or in place of a list."""


class Numbers(_ArrowColumn):
    """An integer (int64) for each document, without nulls."""


Column: TypeAlias = Constant | Texts | Lists | Numbers | list[Any]


def values(column: Column) -> list[Any]:
    """Return the value of each document."""
    if isinstance(column, Constant):
        return [column.value] * column.length
    if isinstance(column, list):
        return column
    return column.array.to_pylist()  # type: ignore[no-any-return]


def column_of(array: pa.ChunkedArray) -> Column:
    """Return a table's column; it stays in Arrow if requests can be built from its type in bulk.

    >>> column_of(pa.chunked_array([["a", None]])), column_of(pa.chunked_array([["a"]])).array.type
    (['a', None], DataType(large_string))
    """
    if not array.null_count:
        if is_text(array.type):
            return Texts(array.cast(pa.large_string()))
        if types.is_integer(array.type) and array.type != pa.uint64():
            return Numbers(array.cast(pa.int64()))
        if types.is_list(array.type) and is_text(array.type.value_type):
            lists = array.cast(pa.large_list(pa.large_string()))
            if not any(chunk.flatten().null_count for chunk in lists.chunks):
                return Lists(lists)
    return array.to_pylist()  # type: ignore[no-any-return]
