"""Which documents of a pool are equal to an evaluated one, as Python compares dicts."""

from __future__ import annotations

from typing import Any

from promptpress._lm_eval.documents import Documents

__all__ = ["equal_rows"]


def equal_rows(evaluated: Documents, pool: Documents) -> list[frozenset[int]]:
    """Find the documents of a pool that are equal to evaluated ones.

    Args:
        evaluated: The evaluated documents.
        pool: Those that shots are drawn from.

    Returns:
        For each evaluated document the numbers of its equals in the pool. NaN equals nothing.

    """
    by_value: dict[Any, list[int]] = {}
    for row, document in enumerate(pool.rows()):
        by_value.setdefault(_hashable(document), []).append(row)
    none: frozenset[int] = frozenset()
    found = {key: frozenset(rows) for key, rows in by_value.items()}
    return [found.get(_hashable(document), none) for document in evaluated.rows()]


def _hashable(value: Any) -> Any:
    """Make a value that is equal to another's exactly if the values are; dicts' order doesn't count."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
