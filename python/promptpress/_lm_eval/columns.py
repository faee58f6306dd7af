"""A field of all documents: one value for all, texts in Arrow, or Python's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Column", "Constant", "Texts", "values"]


@dataclass(frozen=True)
class Constant:
    """The same value for all documents."""

    value: Any
    length: int


@dataclass(frozen=True)
class Texts:
    """A text for each document, none of them null."""

    array: pa.ChunkedArray


Column = Constant | Texts | list[Any]


def values(column: Column) -> list[Any]:
    """Return a column's values, one a document.

    >>> values(Constant(2, 3))
    [2, 2, 2]

    """
    if isinstance(column, Constant):
        return [column.value] * column.length
    return column.array.to_pylist() if isinstance(column, Texts) else column
