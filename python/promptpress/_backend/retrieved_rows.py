"""What a retriever chose, as lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpress._backend.monkeypatches import NotCoveredError


def materialized(chosen: Any, *, is_read_once: bool) -> Any:
    """A choice that can be looked at before the harness's loop sees it.

    Args:
        chosen: What `retrieve` returned.
        is_read_once: Whether the harness's loop reads it from the first to the last, as it can read anything. Other
            loops ask for its length and for its items, which not everything has: then they have to raise what they
            raise.

    Returns:
        The same, as a list where it can only be read once or is no sequence.

    Example:
        >>> materialized(iter([[0], [1]]), is_read_once=True)
        [[0], [1]]
    """
    return list(chosen) if is_read_once and type(chosen) is not list else chosen


def row_lists(chosen: Any, *, is_written: bool) -> list[Sequence[int]]:
    """A choice as lists of numbers.

    Args:
        chosen: What `materialized` gave.
        is_written: Whether the harness's loop puts shorter lists into the choice. Then it has to be that very object.

    Returns:
        A list for each sample; the same objects where they are lists of `int` already.

    Raises:
        NotCoveredError: If it is made of other things.

    Example:
        >>> row_lists([(0, 1), range(2)], is_written=False)
        [[0, 1], [0, 1]]
    """
    if type(chosen) is list and all(type(rows) is list for rows in chosen):
        lists = {id(rows): rows for rows in chosen}.values()  # many samples share one
        if all(type(row) is int for rows in lists for row in rows):
            return chosen
    if is_written:
        raise NotCoveredError("the retriever's choice isn't made of lists of int, and max_seq_len shortens its items")
    if not isinstance(chosen, (list, tuple)) and not hasattr(chosen, "tolist"):
        raise NotCoveredError(f"the retriever chose by {_name(chosen)}, not by a list")
    known: dict[int, list[int]] = {}
    kept = list(chosen)  # so that no two have one id
    return [known[id(rows)] if id(rows) in known else known.setdefault(id(rows), _numbers(rows)) for rows in kept]


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
