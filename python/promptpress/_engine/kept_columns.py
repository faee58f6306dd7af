"""Columns of the samples that are kept next to their prompts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import column_names
from promptpress._arrow.take import take_rows
from promptpress._errors.errors import render_error
from promptpress._errors.suggestions import did_you_mean
from promptpress._utils import lazy_compute as pc

ALL = "all"
"""The value of `keep` that keeps all columns."""


def names_of(keep: Iterable[str]) -> list[str]:
    """List the names of the columns to keep; an iterator gives them only once.

    >>> names_of(iter(["id"]))
    ['id']

    """
    if isinstance(keep, str):
        raise TypeError(
            f"keep: expected a sequence of column names or {ALL!r}, found the str {keep!r}; a list of one is [{keep!r}]"
        )
    if not isinstance(keep, Iterable):
        raise TypeError(f"keep: expected a sequence of column names, found {keep!r}")
    names = list(keep)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"keep: expected column names, found {name!r}")
    return names


def kept_schema(schema: pa.Schema, keep: Sequence[str], fields: list[pa.Field]) -> pa.Schema:
    """Put the fields of kept columns before the output's own."""
    # Sets, because a table may have tens of thousands of columns.
    present, seen, output_names = set(column_names(schema)), set[str](), {field.name for field in fields}
    for name in keep:
        if name not in present:
            listed = ", ".join(map(repr, schema.names))
            raise render_error(
                "missing_column",
                f"keep: the table has no column {name!r}; it has {listed}{did_you_mean(name, schema.names)}",
                column=name,
                placed=False,
            )
        if name in seen:
            raise render_error(
                "duplicate_output_column",
                f"keep: column {name!r} stands there twice; one output has no two columns of a name",
                column=name,
                placed=False,
            )
        if name in output_names:
            raise render_error(
                "duplicate_output_column",
                f"column {name!r} is kept and has the name of an output column; rename that by names=",
                column=name,
                placed=False,
            )
        seen.add(name)
    return pa.schema([*(schema.field(name) for name in keep), *fields])


def repeated(column: Any, start: int, times: int, samples: pa.Array | None) -> list[pa.Array]:
    """Repeat the rows of a part of a column as the requests need them."""
    if samples is not None:
        return take_rows(column, pc.subtract(samples, start))
    if times == 1:
        return [column]
    return take_rows(column, _core.repeated_rows(0, len(column), times))
