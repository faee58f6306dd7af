"""Counts of requests by what has encoded them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EncodedRequests:
    """The requests of a run that were encoded, and by what.

    Args:
        requests: The number of requests that have tokens.
        library: How many of them the installed library `tokenizers` has encoded, and not the core.
        reason: Why the library has encoded the last of them; None if it has encoded none.

    """

    requests: int = 0
    library: int = 0
    reason: str | None = None
