"""Whether two tables give the same texts."""

from __future__ import annotations

import re

import pyarrow as pa

from promptpress._ipc_bytes import table_bytes

__all__ = ["same_texts"]

_FLOATS = re.compile("float|double")


def same_texts(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables give the same texts: NaN is NaN's equal here, and 0.0 isn't that of -0.0.

    Args:
        one: A table.
        other: Another.

    Returns:
        Whether every value of the one has the text of the other's.

    >>> import pyarrow as pa
    >>> same_texts(pa.table({"x": [float("nan")]}), pa.table({"x": [float("nan")]}))
    True
    >>> same_texts(pa.table({"x": [0.0]}), pa.table({"x": [-0.0]}))
    False

    """
    if one.schema != other.schema or len(one) != len(other):
        return False
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        if _FLOATS.search(str(mine.type)):
            try:
                same = repr(mine.to_pylist()) == repr(theirs.to_pylist())
            except Exception:  # values that Python can't have, whatever their type raises for it
                written = [table_bytes(pa.table({"": column})) for column in (mine, theirs)]
                same = written[0] == written[1] or mine.equals(theirs)
            if not same:
                return False
        elif not mine.equals(theirs):
            return False
    return True
