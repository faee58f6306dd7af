"""Row numbers in Arrow and in Python, without an object for each."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core

__all__ = ["as_array", "as_sequence"]


def as_array(rows: Sequence[int]) -> pa.Array:
    """Return row numbers as an array (int64).

    Args:
        rows: The numbers.

    >>> as_array(range(1, 7, 2)).to_pylist(), as_array([4, 2]).to_pylist()
    ([1, 3, 5], [4, 2])

    """
    if isinstance(rows, memoryview) and rows.format == "q":
        return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    if not isinstance(rows, range):
        return pa.array(rows, pa.int64())
    if rows.step == 1:
        return _core.repeated_rows(rows.start, len(rows), 1)
    return pc.add(pc.multiply(_core.repeated_rows(0, len(rows), 1), rows.step), rows.start)


def as_sequence(rows: pa.Array) -> Sequence[int]:
    """Return an array of row numbers (int32 or int64, none of them null) as a sequence of Python's.

    >>> list(as_sequence(pa.array([1, 2, 3], pa.int32()).slice(1)))
    [2, 3]

    """
    if not len(rows):
        return ()
    own = memoryview(rows.buffers()[1])
    numbers = own.cast("i") if rows.type == pa.int32() else own.cast("q")
    return numbers[rows.offset : rows.offset + len(rows)]
