"""Misspelt columns of a template, recorded in the schema of what it renders, so that exports can refuse the prompts."""

from __future__ import annotations

import json
from typing import NamedTuple

import pyarrow as pa

_KEY = b"promptpress.misspelt_columns"


class MisspeltColumn(NamedTuple):
    """A name in a template that no column has, and that resembles the name of a column.

    Args:
        location: The place in the configuration or the template.
        message: The fault and its remedy.

    """

    location: str
    message: str


def with_misspelt_columns(schema: pa.Schema, columns: list[MisspeltColumn]) -> pa.Schema:
    """Record the misspelt columns of a template in the metadata of a schema; without any, return the schema itself."""
    if not columns:
        return schema
    return schema.with_metadata({**(schema.metadata or {}), _KEY: json.dumps(columns, ensure_ascii=False)})


def misspelt_columns(schema: pa.Schema) -> list[MisspeltColumn]:
    """Return the misspelt columns that `with_misspelt_columns` has recorded.

    >>> columns = [MisspeltColumn("prompt_template", "'{questoin}' names no column")]
    >>> misspelt_columns(with_misspelt_columns(pa.schema([]), columns))[0].location
    'prompt_template'

    """
    return [MisspeltColumn(*item) for item in json.loads((schema.metadata or {}).get(_KEY, b"[]"))]
