"""The memory of large strings and large binary, as it lies."""

from __future__ import annotations

import pyarrow as pa


def ends_of(texts: pa.LargeBinaryArray | pa.LargeStringArray) -> memoryview:
    """Say where the first of some texts starts, and where each ends."""
    return memoryview(texts.buffers()[1]).cast("q")[texts.offset : texts.offset + len(texts) + 1]


def text_of(texts: pa.LargeBinaryArray | pa.LargeStringArray) -> memoryview:
    """Return the bytes of texts, one after the other, without a copy."""
    data = texts.buffers()[2]
    if not len(texts) or data is None:
        return memoryview(b"")
    ends = ends_of(texts)
    return memoryview(data)[ends[0] : ends[-1]]
