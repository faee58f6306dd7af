"""Keys by which OpenAI's API sends requests with equal beginnings to one cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from promptpress._engine.options import SHARED

__all__ = ["CACHE_KEY", "schema_with_cache_keys", "with_cache_keys"]

CACHE_KEY = "prompt_cache_key"
"""The name of the parameter of a request, and of the column that holds it."""


def schema_with_cache_keys(schema: pa.Schema) -> pa.Schema:
    """Return the schema of `with_cache_keys`.

    Args:
        schema: The schema of prompts in prefix order, which ends with the columns of what is shared.

    """
    fields = list(schema)[: -len(SHARED)]
    return pa.schema([*fields, pa.field(CACHE_KEY, pa.string())], schema.metadata)


def with_cache_keys(batches: Iterable[pa.RecordBatch], fingerprint: str) -> Iterator[pa.RecordBatch]:
    """Replace what requests share by a key for each group of requests, in the last column.

    Args:
        batches: Prompts in prefix order, with the columns of what they share at the end.
        fingerprint: The fingerprint of the renderer, so that other prompts get other keys.

    >>> schema = pa.schema([("prompt", pa.string()), ("prefix_group", pa.int64()), ("shared_bytes", pa.int64())])
    >>> batch = pa.RecordBatch.from_pydict({"prompt": ["a"], "prefix_group": [3], "shared_bytes": [0]}, schema)
    >>> [keyed.to_pylist() for keyed in with_cache_keys([batch], "0123456789")]
    [[{'prompt': 'a', 'prompt_cache_key': '01234567-3'}]]

    """
    begin = fingerprint[:8] or "prefix"
    for batch in batches:
        *columns, groups, _ = batch.columns
        keys = pa.array([f"{begin}-{group}" for group in groups.to_pylist()], pa.string())
        yield pa.RecordBatch.from_arrays([*columns, keys], schema=schema_with_cache_keys(batch.schema))
