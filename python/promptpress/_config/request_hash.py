"""One hash for all requests of a run, whatever they are cut into, and the number of the rules for their bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from promptpress._arrow import lazy_compute as pc

RULES = 1
"""To be raised by one whenever some configuration and table come out otherwise than in the version before.

Fingerprints of before and after differ then, as the prompts do. tests/fingerprint/test_fingerprint_rules.py holds
hashes of tables and fingerprints fixed, and says when it is time.
"""

FINGERPRINT, HASH, VERSION = "promptpress.fingerprint", "promptpress.hash", "promptpress.version"
"""Keys of metadata, in tables and in files."""

PREFIX_ORDER = "promptpress.prefix_order"
"""The key of the name of the index, by which requests in prefix order are put back into the order of the samples."""


class RequestsHash:
    """SHA-256 of the requests' own hashes, one after the other: two runs that have it sent the same, in one order.

    Labels, turns and kept columns say what is made of an answer, not what the model reads, and don't count. A request
    that isn't there counts as 16 zero bytes.

    >>> import hashlib
    >>> one, other = RequestsHash(), RequestsHash()
    >>> one.update(pa.array([b"a" * 16, b"b" * 16], pa.binary(16)))
    >>> for half in (b"a", b"b"):
    ...     other.update(pa.array([half * 16], pa.binary(16)))
    >>> one.hexdigest() == other.hexdigest() == hashlib.sha256(b"a" * 16 + b"b" * 16).hexdigest()
    True
    """

    __slots__ = ("_sha",)

    def __init__(self) -> None:
        import hashlib  # noqa: PLC0415 - seldom needed

        self._sha = hashlib.sha256()

    def update(self, hashes: Any) -> None:
        """Add the requests that come next."""
        for chunk in hashes.chunks if isinstance(hashes, pa.ChunkedArray) else [hashes]:
            if len(chunk):
                width = chunk.type.byte_width
                whole = pc.fill_null(chunk, bytes(width)) if chunk.null_count else chunk
                data = memoryview(whole.buffers()[1])
                self._sha.update(data[whole.offset * width : (whole.offset + len(whole)) * width])

    def hexdigest(self) -> str:
        """Give the hash of all so far: 64 hexadecimal digits."""
        return self._sha.hexdigest()


def with_requests_hash(rendered: pa.Table, columns_after: int = 0) -> pa.Table:
    """Write the hash of a table's requests into its metadata; hashes are the last column but `columns_after`."""
    total = RequestsHash()
    total.update(rendered.column(rendered.num_columns - 1 - columns_after))
    return rendered.replace_schema_metadata({**(rendered.schema.metadata or {}), HASH: total.hexdigest()})
