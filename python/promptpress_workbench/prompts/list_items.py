"""The numbers of the lists that the items of a list array stand in."""

from __future__ import annotations

import pyarrow as pa
from promptpress.engine.tables import lazy_compute as pc


def parent_rows(lists: pa.Array) -> pa.Array:
    """Return the number of the list of each item that `lists.flatten()` gives.

    pyarrow's own `list_parent_indices` counts items that stand below a null list, and `flatten` leaves them out.

    Args:
        lists: A list array of any layout that pyarrow flattens.

    Returns:
        One number (int64) an item.

    >>> offsets, texts = pa.array([0, 1, 2], pa.int32()), pa.array(["hidden", "shown"])
    >>> lists = pa.ListArray.from_arrays(offsets, texts, mask=pa.array([True, False]))
    >>> lists.flatten().to_pylist(), parent_rows(lists).to_pylist()
    (['shown'], [1])

    """
    rows = pc.list_parent_indices(lists).cast(pa.int64())
    return rows.filter(lists.is_valid().take(rows)) if lists.null_count else rows
