"""Columns of the samples that are kept next to their prompts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.core_tables import column_names
from promptpress._arrow.take import take_rows
from promptpress._errors.errors import did_you_mean, render_error

ALL = "all"
"""The value of `keep` that keeps all columns."""


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
        message = (
            f"keep: expected a sequence of column names or {ALL!r}, found the str {keep!r}; a list of one is [{keep!r}]"
        )
        raise TypeError(message)
    if not isinstance(keep, Iterable):
        message = f"keep: expected a sequence of column names, found {keep!r}"
        raise TypeError(message)
    names = list(keep)
    for name in names:
        if not isinstance(name, str):
            message = f"keep: expected column names, found {name!r}"
            raise TypeError(message)
    return names


def kept_schema(schema: pa.Schema, keep: Sequence[str], fields: list[pa.Field]) -> pa.Schema:
    """Put the fields of kept columns before the output's own.

    Args:
        schema: The samples' schema.
        keep: Names of the columns to keep.
        fields: The output's own fields.

    Returns:
        The output's schema.

    Raises:
        RenderError: If a kept column is missing, stands there twice, or has the name of an output column.

    """
    # Sets, because a table may have tens of thousands of columns.
    present, seen, output_names = set(column_names(schema)), set[str](), {field.name for field in fields}
    for name in keep:
        if name not in present:
            listed = ", ".join(map(repr, schema.names))
            message = f"keep: the table has no column {name!r}; it has {listed}{did_you_mean(name, schema.names)}"
            raise render_error("missing_column", message, column=name, placed=False)
        if name in seen:
            message = f"keep: column {name!r} stands there twice; one output has no two columns of a name"
            raise render_error("duplicate_output_column", message, column=name, placed=False)
        if name in output_names:
            message = f"column {name!r} is kept and has the name of an output column; rename that by names="
            raise render_error("duplicate_output_column", message, column=name, placed=False)
        seen.add(name)
    return pa.schema([*(schema.field(name) for name in keep), *fields])


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
        return take_rows(column, pc.subtract(samples, start))
    if times == 1:
        return [column]
    return take_rows(column, _core.repeated_rows(0, len(column), times))
