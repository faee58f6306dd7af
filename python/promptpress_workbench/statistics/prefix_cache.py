"""The share of the requests' bytes that an engine with a prefix cache has read before: simulated."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from promptpress.engine import RenderOptions, TableEngine, ordered_batches
from promptpress.engine import core as _core
from promptpress.typing import RowPolicy

CACHE_BLOCK = 64
"""The default size of a block in bytes: about 16 tokens of English."""

_SCHEMA = pa.schema(
    [
        ("order", pa.string()),
        ("bytes", pa.int64()),
        ("hit_bytes", pa.int64()),
        ("share", pa.float64()),
        ("cache_bytes", pa.int64()),
        ("block_bytes", pa.int64()),
    ]
)


class PrefixCaches:
    """Simulated prefix caches of one size, one for each order of the requests.

    Args:
        cache_bytes: The size of each cache.
        block_bytes: The size of a block. A block is found together with those before it in a request, or not at all.

    Raises:
        ValueError: If the cache is smaller than a block, or the block is no positive number of bytes.

    >>> caches = PrefixCaches(1000, 4)
    >>> caches.add(pa.array(["same, one", "same, two"]))
    >>> caches.table().select(["order", "bytes", "hit_bytes"]).to_pylist()
    [{'order': 'samples', 'bytes': 18, 'hit_bytes': 4}]

    """

    def __init__(self, cache_bytes: int, block_bytes: int) -> None:
        if not 0 < block_bytes <= cache_bytes < 2**63:
            message = (
                "cache_bytes= holds at least one block of cache_block= bytes, a positive number, and less than 2**63; "
                f"found {cache_bytes} and {block_bytes}"
            )
            raise ValueError(message)
        self._sizes = (cache_bytes, block_bytes)
        self._caches: dict[str, Any] = {"samples": self._new()}

    def _new(self) -> _core.BlockCache:
        return _core.BlockCache(self._sizes[1], self._sizes[0] // self._sizes[1])

    def add(self, requests: pa.Array, *, is_json: bool = False) -> None:
        """Send the next requests, which may be messages as JSON, in the order of the samples through a cache."""
        self._caches["samples"].add(requests, is_json)

    def add_prefix_order(self, engine: TableEngine, table: pa.Table, errors: RowPolicy) -> None:
        """Render a table in prefix order, and send its requests through another cache."""
        cache = self._caches["prefix"] = self._new()
        options = RenderOptions.of((), order="prefix", errors=errors)
        schema = engine.output_schema(table.schema, options)
        for batch in ordered_batches(engine, table, options, is_silent=True):
            cache.add(batch.column(len(schema) - 1 - len(engine.shot_fields)), engine.writes_json)

    def table(self) -> pa.Table:
        """Return the bytes of the requests and those that were found, a row for each order."""
        rows = []
        for order, cache in self._caches.items():
            size, hits = cache.hits
            rows.append((order, size, hits, hits / size if size else 0.0, *self._sizes))
        return pa.Table.from_pylist([dict(zip(_SCHEMA.names, row, strict=True)) for row in rows], _SCHEMA)
