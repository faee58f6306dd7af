"""The rows that a retriever retrieves, as lists of row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpress._harnesses.bulk.monkeypatches import NotCoveredError


def materialized(retrieved: Any, *, is_read_once: bool) -> Any:
    """Return retrieved rows as a list, if the harness's loop reads them once, from the first to the last.

    Other loops use their length and their items, which not every object has: then the loop must raise its own error.

    Example:
        >>> materialized(iter([[0], [1]]), is_read_once=True)
        [[0], [1]]
    """
    return list(retrieved) if is_read_once and type(retrieved) is not list else retrieved


def row_lists(retrieved: Any, *, is_written: bool) -> list[Sequence[int]]:
    """Return retrieved rows as a list for each sample; the same objects if they are lists of `int` already.

    Args:
        retrieved: The rows from `materialized`.
        is_written: True if the harness's loop puts shorter lists into `retrieved`, which must be that very object then.

    Raises:
        NotCoveredError: If the rows are of other classes.

    Example:
        >>> row_lists([(0, 1), range(2)], is_written=False)
        [[0, 1], [0, 1]]
    """
    if type(retrieved) is list and all(type(rows) is list for rows in retrieved):
        lists = {id(rows): rows for rows in retrieved}.values()  # many samples share one
        if all(type(row) is int for rows in lists for row in rows):
            return retrieved
    if is_written:
        raise NotCoveredError("the retriever's choice isn't made of lists of int, and max_seq_len shortens its items")
    if not isinstance(retrieved, (list, tuple)) and not hasattr(retrieved, "tolist"):
        raise NotCoveredError(f"the retriever chose by {_name(retrieved)}, not by a list")
    converted: dict[int, list[int]] = {}
    kept = list(retrieved)  # so that no two have one id
    for rows in kept:
        if id(rows) not in converted:
            converted[id(rows)] = _numbers(rows)
    return [converted[id(rows)] for rows in kept]


def _numbers(rows: Any) -> list[int]:
    if not isinstance(rows, (list, tuple, range)) and getattr(rows, "ndim", None) != 1:
        raise NotCoveredError(f"the retriever's choice for a sample is {_name(rows)}, not a list")
    numbers = list(rows)
    # A Hugging Face dataset takes no other number for a row's, not even numpy's.
    if not all(type(row) is int for row in numbers):
        raise NotCoveredError("the retriever's choice for a sample holds something else than int")
    return numbers


def _name(value: Any) -> str:
    return f"a {type(value).__name__}"
