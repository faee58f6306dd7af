"""Columns of the samples that are kept beside their prompts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress.tables import taken

__all__ = ["names_of", "repeated"]


def names_of(keep: Iterable[str]) -> list[str]:
    """List the names of the columns to keep; an iterator gives them only once.

    Args:
        keep: What the user gave.

    Returns:
        The names.

    Raises:
        TypeError: If it is a string, or holds something else than strings.

    >>> names_of(iter(["id"]))
    ['id']

    """
    if isinstance(keep, str):
        message = f"keep: expected a sequence of column names, found the str {keep!r}; a list of one is [{keep!r}]"
        raise TypeError(message)
    names = list(keep)
    for name in names:
        if not isinstance(name, str):
            message = f"keep: expected column names, found {name!r}"
            raise TypeError(message)
    return names


def repeated(column: Any, start: int, times: int, samples: pa.Array | None) -> list[pa.Array]:
    """Repeat the rows of a part of a column as the requests need them.

    Args:
        column: The part's rows of a kept column.
        start: Number of its first row.
        times: Requests of a sample, where all have as many.
        samples: The rows' numbers, one a request, where not all have as many.

    Returns:
        The rows, in several arrays where one can't hold them.

    """
    if samples is not None:
        return taken(column, pc.subtract(samples, start))
    if times == 1:
        return [column]
    return taken(column, _core.repeated_rows(0, len(column), times))
