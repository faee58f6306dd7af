"""Counts of requests by what has encoded them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EncodedRequests:
    """The requests of a run that were encoded, and by what."""

    requests: int = 0
    library: int = 0
    reason: str | None = None
