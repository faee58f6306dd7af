"""A column that says which sample each request is of."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import promptpress._core as _core
from promptpress._engine.run import Part
from promptpress._errors.errors import render_error


def indexed_schema(schema: pa.Schema, name: str, keep: Sequence[str]) -> pa.Schema:
    """Put the index before an output's columns.

    >>> indexed_schema(pa.schema({"prompt": pa.string()}), "sample", []).names
    ['sample', 'prompt']

    """
    if not isinstance(name, str):
        raise TypeError(f"index: expected the name of a column, found {name!r}")
    if not name or "\0" in name:
        raise render_error("invalid_column_name", f"index: {name!r} is no name for a column", placed=False)
    if name in schema.names:
        what = "a kept column" if name in keep else "an output column"
        other = f"{name}_index" if f"{name}_index" not in schema.names else "another"
        message = f"index: {what} is called {name!r} too; call the index {other!r}, say"
        message += "" if name in keep else ", or rename that by names="
        raise render_error("duplicate_output_column", message, column=name, placed=False)
    return pa.schema([pa.field(name, pa.int64()), *schema])


def sample_numbers(part: _core.RenderedRows | Part, times: int) -> pa.Array:
    """Number the samples of a part's requests, as they count over the whole stream."""
    return _core.repeated_rows(part.start, part.rows, times) if part.samples is None else part.samples
