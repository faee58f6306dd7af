"""Equality of tables by the texts of their values."""

from __future__ import annotations

import re

import pyarrow as pa

from promptpress._arrow.ipc import table_bytes

_FLOATS = re.compile("float|double")


def same_texts(left: pa.Table, right: pa.Table) -> bool:
    """Return true if every value has the same text in both tables: NaN equals NaN, and 0.0 doesn't equal -0.0."""
    if left.schema != right.schema or len(left) != len(right):
        return False
    for mine, theirs in zip(left.columns, right.columns, strict=True):
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
