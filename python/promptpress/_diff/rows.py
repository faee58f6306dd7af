"""Differences as an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from promptpress._diff.comparison import Difference

__all__ = ["rows_of"]


def rows_of(first: Sequence[Difference]) -> pa.Table:
    """Tell differences as `promptpress.Diff.rows` has them.

    Args:
        first: The differences.

    Returns:
        A row each.

    >>> rows_of([]).num_rows
    0

    """
    places = [found.place for found in first]
    columns: dict[str, pa.Array] = {"sample": pa.array([found.sample for found in first], pa.int64())}
    if any(found.label is not None for found in first):
        labels = [None if found.label is None else str(found.label) for found in first]
        columns["label"] = pa.array(labels, pa.string())
    if any(found.turn is not None for found in first):
        columns["turn"] = pa.array([found.turn for found in first], pa.int64())
    columns["change"] = pa.array([place.change for place in places], pa.string())
    for name in ("message", "part", "start"):
        columns[name] = pa.array([getattr(place, name) for place in places], pa.int64())
    for side in ("a", "b"):
        pieces = [getattr(place, side) for place in places]
        for name in ("source", "column"):
            texts = [None if piece is None else getattr(piece, name) for piece in pieces]
            columns[f"{side}_{name}"] = pa.array(texts, pa.string())
    return pa.table(columns)
