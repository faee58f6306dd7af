"""Python's collector of garbage, held back while many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEVER = 1 << 30


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Look at new objects only.

    A full collection goes over all objects there are, and one comes whenever a quarter more have been made: with
    documents and requests, none of which can go, that takes half of the time. What is garbage soon is still collected.

    Example:
        >>> with without_full_collections():
        ...     gc.get_threshold()[2] == _NEVER
        True
        >>> gc.get_threshold()[2] == _NEVER
        False
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        if gc.get_threshold() == (young, middle, _NEVER):
            gc.set_threshold(young, middle, old)
