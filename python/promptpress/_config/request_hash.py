"""One hash for all requests of a table, and the numbers of the rules for bytes and for the hash."""

from __future__ import annotations

import pyarrow as pa

from promptpress._core import RequestsHash

RULES = 1
"""To be raised by one whenever some configuration and table come out otherwise than in the version before.

Fingerprints of before and after differ then, as the prompts do. tests/fingerprint/test_fingerprint_rules.py holds
hashes of tables and fingerprints fixed, and says when it is time.
"""

HASH_FORMAT = 2
"""The number of what `RequestsHash` makes of requests; 1 was SHA-256 of the requests' own hashes."""

FINGERPRINT, HASH, VERSION = "promptpress.fingerprint", "promptpress.hash", "promptpress.version"
"""Keys of metadata, in tables and in files."""

FORMAT = "promptpress.hash_format"
"""The key of the number of the hash's format; without it, that is 1."""

PREFIX_ORDER = "promptpress.prefix_order"
"""The key of the name of the index, by which requests in prefix order are put back into the order of the samples."""


def with_requests_hash(rendered: pa.Table, prompts: int, *, is_json: bool) -> pa.Table:
    """Write the hash of a table's requests, a column by its index, into its metadata."""
    total = RequestsHash(is_json)
    for chunk in rendered.column(prompts).chunks:
        total.update(chunk)
    return rendered.replace_schema_metadata({**(rendered.schema.metadata or {}), **hash_metadata(total)})


def hash_metadata(total: RequestsHash) -> dict[str, str]:
    """Return the entries of metadata for the hash of requests."""
    return {HASH: total.hexdigest(), FORMAT: str(HASH_FORMAT)}
