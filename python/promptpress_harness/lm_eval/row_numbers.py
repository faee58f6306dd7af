"""Row numbers as Arrow arrays and as Python sequences, without a Python object for each number."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc

_TYPES = {"b": pa.int8(), "i": pa.int32(), "q": pa.int64()}


def as_array(rows: Sequence[int]) -> pa.Array:
    """Return row numbers as an Arrow array: int64, or the type of an `array.array`, whose memory is shared."""
    if isinstance(rows, array) or (isinstance(rows, memoryview) and rows.format == "q"):
        return pa.Array.from_buffers(_TYPES[memoryview(rows).format], len(rows), [None, pa.py_buffer(rows)])
    if not isinstance(rows, range):
        return pa.array(rows, pa.int64())
    if rows.step == 1:
        return _core.repeated_rows(rows.start, len(rows), 1)
    return pc.add(pc.multiply(_core.repeated_rows(0, len(rows), 1), rows.step), rows.start)


def as_sequence(rows: pa.Array) -> Sequence[int]:
    """Return an array of row numbers (int32 or int64, without nulls) as a Python sequence over the same memory."""
    if not len(rows):
        return ()
    numbers = memoryview(rows.buffers()[1]).cast("i" if rows.type == pa.int32() else "q")
    return numbers[rows.offset : rows.offset + len(rows)]
